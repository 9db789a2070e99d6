// Package engine is what package oriel is made of: an Engine, which opens a history and has
// its calls (internal/call), recall and vectors, and conversations of items, whose window is
// stored with their history. Package oriel documents its methods.
//
// A Conversation in memory follows its window, not its history: all of it can be read again
// from the store (docs/reference/format/conversation.md). An operation reads what others have
// changed, changes it, and stores the change as a whole before it returns. The limits of a
// window hold after every operation, and every item that leaves it is in a plan.
package engine
