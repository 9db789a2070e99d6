// Package thread finds the conversation that a request belongs to. Clients
// resend their whole history and know nothing of conversations.
//
// The identities of the messages decide, in order from the first on (see
// timeline.Identity). The system prompt and the tools do not. Hints from a
// client narrow the search but never join two histories: one session name
// covers titles, checks and sub-agents, one user name all chats.
//
//   - A request that continues from the end of a conversation continues it. A
//     request that continues from an earlier message is a branch: a rewind, an
//     edit, a parallel call.
//   - A request that begins in the middle of a conversation, because its
//     client dropped the rest, continues it.
//   - A request that begins with a summary, in the session of a long
//     conversation, is a new conversation that continues the old one. The
//     request for the summary leaves the end of the old one where it was.
//   - A request that begins with what a model wrote when its agent asked it for a
//     summary is a new conversation that continues that one, too.
//   - The same history under a very different system prompt is a branch that
//     does not move the conversation's head, unless it continues from the very
//     end.
//   - A first message that was answered already opens another conversation,
//     unless a session name or the client itself says that it is the same.
//     Replies that a client invents join no conversation.
//   - A request that begins with all messages of a conversation's last
//     request, and has something else in place of the model's reply, continues
//     it: clients rewrite replies. A first message alone is not enough for
//     that, unless it is long and only this conversation has it, or part of
//     the reply is left.
//   - A request that has a conversation's last reply and nearly all before it
//     continues it, wherever its client has put its own notes: reminders that
//     move along with the newest question, documents around it, a list of
//     files. No reply may be missing, and the replies must be more than many
//     conversations have in common. White space around texts does not count.
//   - Of such a request the beginning may be missing, if several long replies
//     are there word for word, or ids as below. What is missing stays before
//     the rest, as in a request that begins in the middle.
//   - Ids of tool calls that no other conversation has by chance identify it
//     whatever happened to the other messages: a first message that changed, a
//     summary in place of the beginning, reasoning that was dropped. A model
//     must have made one of the calls here: examples are in many conversations.
//   - What Oriel inserted into a view, and whole views, may come back. They
//     are recognised by their mark.
//
// A model's reply is provisional until the client sends it back. The client's
// form of it is adopted if it says the same, and otherwise replaces the reply.
//
// # Guarantees
//
// An Index answers from memory. It reads the store only for histories that it
// has never seen or has forgotten, without a lock, and within the deadline of
// the context; a read that takes longer serves the next call. An Index is
// bounded and safe for concurrent use. Tenants are separate, and none waits
// for another.
//
// The work to find a conversation depends on the size of the request alone:
// histories that begin alike share their beginning in one tree, messages are
// hashed and compared without a lock, and the search for a trimmed history is
// bounded. A request of more than MaxMessages is rejected.
//
// # Caveats
//
// The provider's ids of replies are lost in a restart: a request that
// continues from one by its id alone then begins a new conversation. So are the
// summaries that models wrote: a history that begins with one of them, and of
// which nothing else is left, is then a new conversation if no session is named.
//
// A reply that was not sent back before a restart is recognised afterwards
// only in the same words and white space; otherwise its echo is a branch of the same
// conversation.
package thread
