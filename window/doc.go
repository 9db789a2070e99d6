/*
Package window decides what of a conversation a model is shown, and says why.

# Requests

[Fit] takes a request body and gives back one that is within its budget, with a
[Plan]: a verdict and a reason for every message, and what was inserted. It

  - gives back the very bytes that came where nothing has to change, and never
    changes its input, so that dropping the plan undoes it;
  - sends what stays byte for byte, edits inside a message aside: a stub in the
    place of a tool result (mask), a text without its middle (trim), and one
    marker, digest or summary in the user message before the first gap;
  - takes away only whole exchanges, and only sets that package chat calls legal;
  - is within the budget as package token counts it, or fails with
    [ErrCannotFit] and the numbers; in mode Soft it may decline;
  - is deterministic: same body, options and clock, same bytes and plan;
  - changes nothing when it is given its own result again (mode Hard).

A policy is a function that marks a draft; it asks for anything and gets the
nearest legal set. What it leaves over the budget is brought within it by one
piece of code for all of them (fitWithin): the oldest exchanges leave, then the first
prompt, then pinned ones, and last the newest turn is clipped. The system prompt and
the tools are never touched.

# Caveats

Budgets are tokens of the model that is named, which for all but OpenAI's are
estimates. Without a query embedding, relevance compares words. A digest tells
what an evicted span was about, not what it said: the caller keeps the history.
*/
package window
