// Package fault has the errors of an engine: one type, which says what failed, where, why
// and what to do about it, and the causes that callers ask for. Package oriel exports them.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// Causes of an *Error, and what other functions return.
var (
	// ErrConfig: a setting cannot be used.
	ErrConfig = errors.New("not a valid setting")
	// ErrClosed: the engine has been closed.
	ErrClosed = errors.New("the engine is closed")
	// ErrNoConversation: a conversation needs an id.
	ErrNoConversation = errors.New("no conversation has an empty id")
	// ErrOfCalls: the conversation consists of calls, and only items can be added, sized
	// and cleared by hand.
	ErrOfCalls = errors.New("it is a conversation of calls")
	// ErrItem: an item cannot be added.
	ErrItem = items.ErrItem
	// ErrNoItem: the conversation never had an item with this id.
	ErrNoItem = errors.New("no such item")
	// ErrNoPlan: the conversation never had a plan with this id.
	ErrNoPlan = errors.New("no such plan")
	// ErrNoDirective: the item contains no standing instruction that could be edited.
	ErrNoDirective = errors.New("no such directive")
	// ErrCannotFit: what must be shown is larger than the budget. Fit returns it, too.
	ErrCannotFit = window.ErrCannotFit
)

// Error reports what failed, where, why, and what to do about it.
type Error struct {
	// Op is the operation, with the id of what it was applied to.
	Op string
	// Conversation is the id of the conversation; empty if there is none.
	Conversation string
	// Err is the cause: one of the errors above, or that of a context or store.
	Err error
	// Hint is what to do; it may be empty.
	Hint string
}

func (e *Error) Error() string {
	s := e.Op
	if e.Conversation != "" {
		s += fmt.Sprintf(" in conversation %q", e.Conversation)
	}
	s += ": " + e.Err.Error()
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// CheckID returns an error for the id of a conversation or a project that a store does not
// accept.
func CheckID(id string) error {
	switch {
	case id == "":
		return ErrNoConversation
	case len(id) > timeline.MaxName:
		return fmt.Errorf("%w: an id of %d bytes, at most %d are stored", ErrConfig, len(id), timeline.MaxName)
	case !utf8.ValidString(id) || strings.IndexByte(id, 0) >= 0:
		return fmt.Errorf("%w: an id that is not valid text", ErrConfig)
	}
	return nil
}
