package oriel

import "github.com/oriel-context/oriel/internal/event"

// Event reports something that happened to a call or its conversation; see Config.Events.
// Fields that are unknown or do not apply are zero.
//
//	Time                      time.Time
//	Kind                      string         // one of the kinds below
//	Tenant                    string         // "": the user of this machine
//	Call, Conversation, Model string
//	Thread                    string         // how the call relates to the conversation: "continued", …
//	Policy                    string         // of the window, for a conversation of items
//	TokensBefore, TokensAfter int            // of the request and of what was sent of it; of a window
//	Reported, Output          int            // the provider's counts of the prompt and the reply
//	Usage                     *event.Usage   // all that the provider reported
//	MS                        float64        // how long the answer took
//	Budget                    int            // of the view
//	Grown                     *window.Growth // why Budget exceeds that of the profile
//	Cost                      float64        // beside the call itself, in US dollars
//	Plan                      string         // by which something left or came back
//	Items                     int            // its messages
//	Back, Left                string         // of pins and undone plans: messages, as "24-37,40"
//	Action                    string         // trim, mask, evict, digest, condense; as X-Oriel-Action
//	Recalled                  int            // tokens that were brought back
//	Reason                    string         // the part of Oriel that failed, or the limit
//	Outcome                   event.Outcome  // how a call ended: "" (whole), left, cut-off or failed
//	Error                     string
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
