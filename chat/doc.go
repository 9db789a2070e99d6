/*
Package chat is the one message model that every provider's history is read
into, and the one place that knows where a history may be cut.

# Messages

A Message is one element of a request's history: a message of Anthropic Messages
or OpenAI Chat, an item of OpenAI Responses. It keeps the bytes it came in (Raw)
beside what Oriel understands of them (Role, Parts); what is not understood is a
part of kind Unknown that has nothing but its bytes. Nothing here changes bytes:
a message that stays in a window is sent as Raw.

Text is kept as a JSON literal (String) and decoded only when somebody looks.

# Exchanges

An Exchange is the smallest span of messages that may leave a window:

  - the leading run of system and developer messages, which never leaves;
  - a user's message;
  - an assistant's turn up to its next answer: a run of assistant messages (one
    for Anthropic and Chat; reasoning, message and call items for Responses) with
    every tool call in it and all their results.

A long tool loop is therefore many exchanges and can be cut between any two of
them. A system message further on belongs to the exchange before it. An unknown
item does too.

Calls and results are joined by id and never by position: a result answers the
newest call before it that has its id and no result yet, so an id that is used
again in a later turn joins only its own pair. Everything between a call and its
last result belongs to the same exchange, and so do calls that another call made
(Part.Within). A run in which the provider runs the tools itself is divided at its
reasoning items.

# Legal cuts

Cuts.Keep turns any wish into the nearest legal set of exchanges, by keeping
more, and is the identity on a legal one. A legal set

  - has every Fixed exchange: the leading system run, the newest exchange (with
    its thinking, byte for byte, and calls that are still running), the last
    message in which a user says something (a reminder that the agent program put
    into their mouth is not theirs), the thinking that a running loop of
    Anthropic's began with where its newest call has none, calls that the provider
    itself still runs, and what later messages depend on (tool catalogues,
    references to what the provider keeps, the newest compaction item);
  - has no Broken exchange unless it is Fixed;
  - begins with a user's message, where the history itself does;
  - keeps the order of roles over each gap: a user's message or a tool's result is
    followed by an assistant, an assistant by a user. Where that needs one message
    more, that message stays: the user's message that opened the turn, or the
    reply that closed it. (A user's messages that nobody answered may meet.)

Since exchanges are whole, calls, parallel batches, results, thinking and the
reasoning item before its call always stay or leave together.

# Broken histories

A history may come broken: a result without its call, a call in the middle
without its result, one call answered twice, a result somewhere else than the
provider demands (Rules). Oriel does not invent results or rewrite messages:

  - as long as nothing has to be cut, the history is sent as it came;
  - a broken exchange is the first to leave when something is cut;
  - a broken exchange that is Fixed stays as it came. The request is no more
    broken than it was; Cuts.Problems says what is wrong, so that a caller can
    refuse it or report it.

Calls without results in the newest exchange are not broken but Open: the agent is
still running them.
*/
package chat
