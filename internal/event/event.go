// Package event has what an engine reports while it works: an event for everything that
// happens to a call or its conversation, for logs, metrics, consoles and callers (SPEC B7).
// Texts of events are clipped; no event contains a credential.
package event

import (
	"context"
	"log/slog"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// Event reports something that happened to a call or its conversation (SPEC B7). Fields
// that are unknown or do not apply are zero.
type Event struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`
	// Tenant is the owner of the history; empty for the user of this machine.
	Tenant string `json:"tenant,omitempty"`
	// Call is the id of the call, as in logs; empty if no call caused the event.
	Call         string `json:"call,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	// Thread is how the call relates to the conversation, such as "continued" or
	// "branched".
	Thread string `json:"thread,omitempty"`
	Model  string `json:"model,omitempty"`
	// Policy is the policy of the window, for a conversation of items.
	Policy string `json:"policy,omitempty"`
	// TokensBefore and TokensAfter are the sizes of the request and of what was sent of
	// it, as Oriel counts them; for a condensation those of the messages and of the
	// summary, for a resize those of the window. Reported is the provider's count of the
	// prompt, Output that of the reply.
	TokensBefore int `json:"tokens_before,omitempty"`
	TokensAfter  int `json:"tokens_after,omitempty"`
	Reported     int `json:"reported,omitempty"`
	Output       int `json:"output,omitempty"`
	// MS is how long the answer of a call took, in milliseconds.
	MS float64 `json:"ms,omitempty"`
	// Budget is the budget of the view. Grown is why it exceeds that of the profile; nil
	// if it does not.
	Budget int            `json:"budget,omitempty"`
	Grown  *window.Growth `json:"grown,omitempty"`
	// Usage is what the provider reported; nil if it reported nothing.
	Usage *Usage `json:"usage,omitempty"`
	// Cost is the cost of the event beside the call itself, in US dollars.
	Cost float64 `json:"cost"`
	// Plan is the id of the plan by which something was left out, brought back or
	// condensed; Items is the number of its messages.
	Plan  string `json:"plan,omitempty"`
	Items int    `json:"items,omitempty"`
	// Back and Left are set for pins and undone plans: the messages that came back and
	// those that left for them, such as "24-37,40".
	Back string `json:"back,omitempty"`
	Left string `json:"left,omitempty"`
	// Action is what a cut did: trim, mask, evict, digest or condense. Of a call it is what
	// was done to it, as in X-Oriel-Action; empty if no view was made. Recalled are the
	// tokens that a recall brought back. Reason is the part of Oriel that failed: see
	// Open.
	Action   string `json:"action,omitempty"`
	Recalled int    `json:"recalled,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Outcome is how a call ended: empty for a whole answer, left, cut-off or failed.
	Outcome Outcome `json:"outcome,omitempty"`
	// Error is what went wrong, if anything did.
	Error string `json:"error,omitempty"`
}

// Kinds of events.
const (
	// Call: a call has ended and is written.
	Call = "call"
	// Cut: a view was made smaller; Condensation: a model was asked for a
	// summary, or none could be made; Resize: the adaptive size of a conversation has changed; Recall:
	// messages were brought back because the query needs them; Overflow: a provider
	// refused a request as too large.
	Cut          = "truncation"
	Condensation = "condensation"
	Resize       = "resize"
	Recall       = "recall"
	Overflow     = "overflow"
	// Pin, Undo, Release: a call applied a pin, an undo or a release that
	// a person made; Error is set if there was no room for it.
	Pin     = "pin"
	Undo    = "undo"
	Release = "release"
	// Open: a part of Oriel failed, and the call continued without it.
	Open = "fail-open"
	// Unknown: a body that could not be read, or has too many messages, parts or
	// tools, was passed on as it came.
	Unknown = "unknown-body"
	// Unseen: a call was neither recorded nor cut: its body was too large, in an
	// unknown encoding, or there was no memory for it.
	Unseen = "unseen"
	// Unkept: the answer of a call was too large or had too many parts to keep, or
	// there was no memory for it.
	Unkept = "unkept-answer"
	// Profile: a call named an unknown profile; the default was used.
	Profile = "unknown-profile"
	// Budget: a call asked for a budget that is not a number of tokens; it was
	// ignored.
	Budget = "invalid-budget"
	// Limit: a call was refused or not recorded, because its tenant has reached a
	// limit. Reason is LimitCalls or LimitBytes.
	Limit = "limit"
	// Dropped: events are missing from the file, because nobody read it or it could
	// not be written. Items is their number.
	Dropped = "dropped"
)

// Reasons of Limit: the limit.
const (
	LimitCalls = "calls" // calls in a minute: the call was refused
	LimitBytes = "bytes" // bytes stored: the call was sent and not recorded
)

// Reasons of Open: what failed.
const (
	OpenFind   = "find"   // finding the conversation of a call
	OpenNotes  = "notes"  // reading pins, holds, plans or the size of a conversation
	OpenPlan   = "plan"   // deciding what is sent
	OpenRecall = "recall" // searching what was left out
	OpenCount  = "count"  // counting tokens
	OpenReply  = "reply"  // reading the answer
	OpenStore  = "store"  // writing a call or a summary
	OpenLearnt = "learnt" // keeping what was learnt about providers
)

// Usage is what the provider reported. Input excludes what was read from the cache or
// written to it.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Hour       int `json:"cache_write_1h,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
	// Service is the service tier at another price that the provider used, such as "flex".
	Service string `json:"service,omitempty"`
}

// Emit logs an event and passes it to receive, which may be nil. Calls are logged at debug
// level, because the proxy logs each call itself.
func (e Event) Emit(log *slog.Logger, receive func(Event)) {
	if e.Tenant == timeline.Local {
		e.Tenant = ""
	}
	e.Model, e.Conversation, e.Plan, e.Error = clip.To(e.Model, clip.Name), clip.To(e.Conversation, clip.Line),
		clip.To(e.Plan, clip.Name), clip.To(e.Error, clip.Text)
	level, what := slog.LevelInfo, e.Kind
	switch e.Kind {
	case Call:
		level = slog.LevelDebug
	case Open:
		level, what = slog.LevelError, "something failed, and the call went on"
	case Unknown:
		level, what = slog.LevelWarn, "a request that could not be read went on as it came"
	default:
		if e.Error != "" {
			level = slog.LevelWarn
		}
	}
	attributes := []slog.Attr{slog.String("kind", e.Kind), slog.String("call", e.Call),
		slog.String("conversation", e.Conversation)}
	if e.TokensAfter > 0 {
		attributes = append(attributes, slog.Int("before", e.TokensBefore), slog.Int("after", e.TokensAfter))
	}
	if e.Plan != "" {
		attributes = append(attributes, slog.String("plan", e.Plan))
	}
	if e.Cost > 0 {
		attributes = append(attributes, slog.Float64("cost", e.Cost))
	}
	if e.Error != "" {
		attributes = append(attributes, slog.String("error", e.Error))
	}
	log.LogAttrs(context.Background(), level, what, attributes...)
	if receive != nil {
		receive(e)
	}
}
