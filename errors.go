package oriel

import "github.com/oriel-context/oriel/internal/engine/fault"

// Causes of an *Error, and what other functions return.
var (
	// ErrConfig: a setting cannot be used.
	ErrConfig = fault.ErrConfig
	// ErrClosed: the engine has been closed.
	ErrClosed = fault.ErrClosed
	// ErrNoConversation: a conversation needs an id.
	ErrNoConversation = fault.ErrNoConversation
	// ErrOfCalls: the conversation consists of calls. Add, Context, Resize and Clear are for
	// conversations of items.
	ErrOfCalls = fault.ErrOfCalls
	// ErrItem: an item cannot be added.
	ErrItem = fault.ErrItem
	// ErrNoItem: the conversation never had an item with this id.
	ErrNoItem = fault.ErrNoItem
	// ErrNoPlan: the conversation never had a plan with this id.
	ErrNoPlan = fault.ErrNoPlan
	// ErrNoDirective: the item contains no standing instruction that could be edited.
	ErrNoDirective = fault.ErrNoDirective
	// ErrCannotFit: what must be shown is larger than the budget. Fit returns it, too.
	ErrCannotFit = fault.ErrCannotFit
)

// Error reports what failed, where, why, and what to do about it.
//
//	Op           string // the operation, with the id of what it was applied to
//	Conversation string // its id, if there is one
//	Err          error  // one of the errors above, or that of a context or store
//	Hint         string // what to do
type Error = fault.Error
