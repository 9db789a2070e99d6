/*
Package chat defines the message model of all providers and decides where a history may be
cut.

# Messages

A Message is one element of a request's history: a message of Anthropic Messages or OpenAI
Chat, an item of OpenAI Responses. It keeps the bytes as received (Raw) beside what Oriel
understands of them (Role, Parts). What Oriel does not understand is a part of kind
Unknown that holds only its bytes. This package never changes bytes: a message that stays
in a window is sent as Raw.

Text is kept as a JSON literal (String) and decoded only on use.

# Exchanges

An Exchange is the smallest span of messages that may leave a window:

  - the leading run of system and developer messages, which never leaves;
  - a user's message;
  - an assistant's turn up to its next answer: a run of assistant messages (one
    for Anthropic and Chat; reasoning, message and call items for Responses) with
    every tool call in it and all their results.

A long tool loop is therefore many exchanges and can be cut between any two of them. A
later system message and an unknown item belong to the exchange before them.

Calls and results are joined by id and never by position: a result answers the
newest call before it that has its id and no result yet, so an id that is used
again in a later turn joins only its own pair. Everything between a call and its
last result belongs to the same exchange, and so do calls that another call made
(Part.Within). A run in which the provider runs the tools itself is divided at its
reasoning items.

# Legal cuts

Cuts.Keep returns the legal set of exchanges nearest to any given set, by keeping more. It
returns a legal set unchanged. A legal set

  - has every Fixed exchange: the leading system run, the newest exchange (with its
    thinking, byte for byte, and calls that are still running), the last message in which
    a user writes something (not a reminder that the agent program inserted), the thinking
    at the start of a running Anthropic loop if its newest call has none, calls that the
    provider is still running, and what later messages depend on (tool catalogues,
    references to what the provider keeps, the newest compaction item);
  - has no Broken exchange unless it is Fixed;
  - begins with a user's message, where the history itself does;
  - keeps the order of roles over each gap: a user's message or a tool's result is
    followed by an assistant, an assistant by a user. If that needs one more message, it
    stays: the user's message that opened the turn, or the reply that closed it.
    (Unanswered messages of a user may be adjacent.)

Because exchanges stay or leave as a whole, so do calls, parallel batches, results,
thinking and the reasoning item before a call.

# Broken histories

A history may arrive broken: a result without its call, a call in the middle without its
result, two results for one call, a result where the provider does not allow it (Rules).
Oriel does not invent results or rewrite messages:

  - as long as nothing has to be cut, the history is sent as received;
  - a broken exchange is the first to leave when something is cut;
  - a broken exchange that is Fixed stays as received. The request is no more broken than
    before; Cuts.Problems lists the faults, so that a caller can refuse or report it.

Calls without results in the newest exchange are not broken but Open: the agent is
still running them.
*/
package chat
