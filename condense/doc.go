/*
Package condense turns a span of messages into a short text that stands for it.

# Methods

Three condensers implement one interface:

  - [Digest] is for agents: what was asked, what was decided, which files changed, which
    commands ran and how they ended. Of a talk without tools it has, in a few lines, what
    it is about, what was agreed and what is open. No model.
  - [Extractive] is for chats: the most telling sentences, in their speakers' own words.
    No model.
  - [Model] asks a model through a function of the caller. This package does no HTTP.
    [Func] turns any other function into a condenser.

Digest and Extractive are deterministic: the same input gives the same text, byte
for byte (SPEC E6). They invent nothing: every word comes from the span, except
for titles and a few words on counts and outcomes.

# What Run guarantees

[Run] is the way to use a condenser. Whatever the condenser does, a text that Run
returns

  - begins with the marker line that [IsSummary] recognises, and has no other
    marker inside: summaries never nest. An earlier summary is given to the
    condenser as Input.Previous, a base to be merged, and a summary that stands
    among the messages becomes part of that base;
  - has at most Input.Max tokens, the marker included;
  - is at least a tenth smaller than what it stands for;
  - is neither empty, nor a refusal, nor a reply that was cut off;
  - is valid UTF-8.

Otherwise Run returns an [*Error] that says why, what to do, and what the failed call
cost. The caller keeps the history unchanged, or falls back (SPEC B3).

# Caveats

The methods without a model rely on cues: words that people use for decisions, names of
arguments, words that tools print when they fail. They are made for English and know some
cues of other languages; sentences are split in any script. Text without a cue may be left
out; the full text stays in the history.

Text of the span is data: it is quoted, never followed as instructions, and a model is
told so.
*/
package condense
