// Package thread tells who is talking: to which conversation a request belongs whose
// client resends its whole history and knows nothing of conversations.
//
// What messages say decides, one under the other from the first on (see
// timeline.Identity); what is written before them, the system prompt and the tools, does
// not. Hints that a client gives narrow the search and never join two histories: one
// session's name covers titles, checks and sub-agents, one user's all chats.
//
//   - A request that goes on from where a conversation ended continues it. One that
//     goes on from an earlier message branches: a rewind, an edit, a parallel call.
//   - One that begins in the middle of a conversation, because its client forgot the
//     rest, continues it.
//   - One that begins with a summary, in the name of a conversation that was long, is
//     a new conversation that continues the old one.
//   - The same history under a very different system prompt is a branch that leaves
//     the conversation where it stands, unless it goes on from its very end.
//   - An opener that was answered already opens another conversation, unless a
//     session's name or the client itself says that it is the same. What clients put
//     into a model's mouth joins nobody.
//   - A request that begins with all messages of the last one of a conversation, and has
//     something else where the model's reply was, continues it: clients rewrite replies.
//     A mere opener is not enough for that, unless it is long and of this conversation
//     alone, or something of the reply is left.
//   - A request that has all messages of the last one of a conversation but its newest
//     question, which it has in other words before the model's very reply, is a branch of
//     it: front-ends wrap the newest question in documents, and later send it without
//     them. The reply must be no mere word, the first one long, and of this conversation alone.
//   - What Oriel put into a view, and views as a whole, may come back: they are known by
//     their mark.
//
// A model's reply is provisional until the client sends it back: the client's form of
// it is adopted where it says the same, and else takes the reply's place.
//
// # Guarantees
//
// A Index answers from memory. It asks the store only for histories that it has never
// seen or has forgotten, never while others wait for it, and within the deadline of
// the context; what takes longer is there for the next call. It is bounded. It is safe
// for concurrent use. Tenants never meet, and none waits for another.
//
// Finding a conversation takes work that grows with the request and with nothing else:
// histories that begin alike share their beginning in one tree, messages are hashed and
// compared without a lock, and the search for a trimmed history has a bound. A request of
// more than MaxMessages is refused.
//
// # Caveats
//
// The provider's ids of replies are forgotten with a restart: who goes on from one by
// its id alone is then in a new conversation. Clients that drop the reasoning of a reply
// make a branch of it.
//
// A reply that was never sent back before a restart is recognised after it only in the
// same words; else its echo is a branch of the same conversation.
package thread
