package oriel

import "github.com/oriel-context/oriel/internal/event"

// Event reports something that happened to a call or its conversation, in fields that are
// zero where they do not apply; see Config.Events.
type Event = event.Event

// Kinds of events: Event.Kind.
const (
	// EventCall: a call has ended and is written.
	EventCall = event.Call
	// EventCut: a view was made smaller; EventCondensation: a model was asked for a
	// summary, or none could be made; EventResize: the adaptive size of a conversation has changed; EventRecall:
	// messages were brought back because the query needs them; EventOverflow: a provider
	// refused a request as too large.
	EventCut          = event.Cut
	EventCondensation = event.Condensation
	EventResize       = event.Resize
	EventRecall       = event.Recall
	EventOverflow     = event.Overflow
	// EventPin, EventUndo, EventRelease: a call applied a pin, an undo or a release that
	// a person made; Error is set if there was no room for it.
	EventPin     = event.Pin
	EventUndo    = event.Undo
	EventRelease = event.Release
	// EventOpen: a part of Oriel failed, and the call continued without it.
	EventOpen = event.Open
	// EventUnknown: a body that could not be read, or has too many messages, parts or
	// tools, was passed on as it came.
	EventUnknown = event.Unknown
	// EventUnseen: a call was neither recorded nor cut: its body was too large, in an
	// unknown encoding, or there was no memory for it.
	EventUnseen = event.Unseen
	// EventUnkept: the answer of a call was too large or had too many parts to keep, or
	// there was no memory for it.
	EventUnkept = event.Unkept
	// EventProfile: a call named an unknown profile; the default was used.
	EventProfile = event.Profile
	// EventBudget: a call asked for a budget that is not a number of tokens; it was
	// ignored.
	EventBudget = event.Budget
	// EventLimit: a call was refused or not recorded, because its tenant has reached a
	// limit. Reason is LimitCalls or LimitBytes.
	EventLimit = event.Limit
	// EventDropped: events are missing from the file, because nobody read it or it could
	// not be written. Items is their number.
	EventDropped = event.Dropped
)
