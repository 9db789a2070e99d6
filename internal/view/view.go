package view

import (
	"cmp"
	"context"
	"time"

	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Options configures New.
type Options struct {
	// Index holds the plans of conversations. Show needs it, Fit does not.
	Index *thread.Index
	// Models, Calibration and Cache are used to count. Default: the built-in
	// models, no calibration, no cache.
	Models      *token.Models
	Calibration *token.Calibration
	Cache       *token.Cache
	// Recall finds what the view no longer shows; nil disables recall.
	Recall *recall.Library
	// RecallTokens is the most tokens, as the model counts them, that one call
	// recalls, and never more than half of the budget. How many it recalls follows from
	// how sure recall is: usually a quarter of that or less. Default 2,048.
	RecallTokens int
	// RecallWait is the longest that a call waits for recall. Default 100 ms (SPEC D9).
	RecallWait time.Duration
	// RecallReach is recall.ReachProject if the first call of a conversation
	// recalls from other conversations of its project. A profile may say
	// otherwise.
	RecallReach recall.Reach
	// Standing returns the instructions of users in the conversations of a
	// project that are not dismissed, oldest first; nil means none.
	Standing func(ctx context.Context, tenant, project string) ([]recall.Directive, error)
	// Dismissed returns the notes of people about the instructions in a
	// conversation; nil means that all are offered as they were said.
	Dismissed func(ctx context.Context, tenant, conversation string) ([]Dismissed, error)
	// Low is the share of the budget that a cut goes down to. Default
	// window.LowShare.
	Low float64
	// KeepTools are the names of tools whose results stay as long as their
	// exchange; see window.Options.
	KeepTools []string
	// Limits are the limits learnt from providers.
	Limits *token.Limits
	// Thresholds are the percents of the model's window at which a cut is
	// made, if that is before the budget (SPEC B4).
	Thresholds window.Thresholds
	// Profiles are the profiles that calls may name; nil means the built-in
	// ones.
	Profiles *window.ProfileTable
	// Margin is the margin of window.Options.
	Margin float64
	// Condense has a model summarise what was left out; nil means a digest.
	Condense *Condensing
}

// Viewer makes views. It is safe for concurrent use.
type Viewer struct {
	o       Options
	recalls limit.Work
	vain    vain
}

// DefaultRecallWait is the default of Options.RecallWait.
const DefaultRecallWait = 100 * time.Millisecond

// New returns a Viewer.
func New(o Options) *Viewer {
	o.RecallTokens = cmp.Or(o.RecallTokens, recall.DefaultBudget)
	o.RecallWait = cmp.Or(o.RecallWait, DefaultRecallWait)
	if o.Models == nil {
		o.Models = token.Builtin()
	}
	if o.Calibration == nil {
		o.Calibration = new(token.Calibration)
	}
	if o.Limits == nil {
		o.Limits = new(token.Limits)
	}
	return &Viewer{o: o}
}

// Input is a request whose conversation is known.
type Input struct {
	// ID is the id of the call; a plan that it makes contains it, too.
	ID     string
	Body   *wire.Body
	Thread *thread.Thread
	// Profile is a name; Asked reports that the call itself names it, not only
	// the settings. Budget, if not 0, is the most tokens of the view.
	Profile string
	Asked   bool
	Budget  int
	// Size, if not 0, is the most tokens of the messages: the adaptive size of
	// a conversation (SPEC D6). Budget overrides it.
	Size int
	// Room, if not nil, is the room that an earlier call had for its view, for
	// callers that try that call again. It overrides all budgets here.
	Room *Room
	// Most, if not 0, is what this call was found to be allowed: its provider
	// has refused more.
	Most int
	// Unbind reports that the provider has refused the view because of
	// thinking after a change: none is left there, whatever was assumed
	// before.
	Unbind bool
	// Cold reports that the provider's cache has nothing of the conversation
	// any more; see Lifetime. Everything that is sent is then written to the
	// cache again, so that a cut costs nothing, and profiles that want less
	// than the model accepts go down to the low mark.
	Cold bool
	// Compacts reports that the client says that this request asks for the summary that
	// replaces its history, as chat.AsksForSummary finds in its last message.
	Compacts bool
	// Told is what the server says of the window of the model.
	Told window.Told
	// Betas are the provider's features that the request asks for.
	Betas []string
	// PlainCache reports that the upstream caches plain prefixes, as vLLM and
	// local servers do. The part of Claude Code's billing line that changes
	// with every call, which means nothing to them, is then sent as zeros.
	PlainCache bool
	// MarkCache has the provider asked to cache the prompt if the client does not ask.
	MarkCache bool
	// AskDrop has the provider drop thinking that lost its place behind a cut, where it would
	// refuse the request. Result.Beta is then to be sent, too.
	AskDrop bool
	// Apart keeps the plans of this view from those of other views of the same history, for
	// callers that make several.
	Apart string
	// Pins are the depths of the messages that stay.
	Pins []int
	// Agree, if set, makes a decision that of all processes, unless one of them was
	// first.
	Agree func(Decision) Agreement
	// Project returns the project of a new conversation, or "". It may be nil.
	Project func() string
	Now     time.Time
}

// Decision is what a process is about to send.
type Decision struct {
	// Cut is a new cut; nil if nothing is recalled for the newest words of a
	// request and nothing else is new.
	Cut *plan.Plan
	// Before are the cuts of the index from which the decision was made.
	Before []*plan.Plan
	// Recalled reports that the cut has something that was recalled for the newest
	// words.
	Recalled bool
}

// Agreement is whether the decision of this process counts.
type Agreement int

// The verdicts.
const (
	// Agreed: it counts.
	Agreed Agreement = iota
	// Beaten: another process has made a cut first, which is now in the index.
	Beaten
	// Quiet: another process has recalled nothing for the same words.
	Quiet
)

// Result is a view.
type Result struct {
	// Body is what is sent: the request's own slice if nothing is changed,
	// which Changed reports.
	Body    []byte
	Changed bool
	// Beta is the provider's feature that the body needs; "" if it needs none but the client's.
	Beta string
	// Before and After are the tokens of the request and of the view; Local is
	// After before calibration; see token.Breakdown.
	Before, After, Local int
	// Action is what this call did, or what an earlier cut still does: none,
	// trim, mask, evict, digest (by rules), condense (by a model), with
	// +recall if something was recalled.
	Action string
	// Cut is the cut in effect, or nil; New reports that this call made it.
	// Made are all cuts of this call, to be stored: one for the history and,
	// if something was recalled for the newest words alone, one more.
	Cut  *plan.Plan
	New  bool
	Made []*plan.Plan
	// Folded reports that this call left something out; otherwise its cuts
	// only remember what was inserted. Cleared reports that something that was recalled
	// for earlier turns left.
	Folded, Cleared bool
	// Lacks reports that recall may be needed soon: the client has left something out, or
	// asks for the summary that replaces its history.
	Lacks bool
	// Recalled is the number of tokens recalled by this call. RecallTook is the time
	// that searching took, from RecallBegan on; 0 if nothing was searched.
	Recalled    int
	RecallBegan time.Time
	RecallTook  time.Duration
	// Room is the room that the call had for its view.
	Room Room
	// Budget is what the view had to fit in; Grown is why that exceeds what
	// the profile wants, or nil.
	Budget int
	Grown  *window.Growth
	// Why is why a request that its provider manages itself is left unchanged.
	Why string
	// Restored are the pinned messages that were left out and are shown again,
	// Left those that left for them, both by depth. Refused explains with
	// numbers why pinned messages are not shown.
	Restored, Left []int
	Refused        error
	// Failed is the failure of recall, without which the view was made.
	Failed error
	// Asked reports that this call waited for a model's summary. Unused is what was paid
	// for a summary, by a model or by rules, and why the history stays as it was.
	Asked  bool
	Unused window.Summary

	again bool // a second step follows

	// request and pieces are what was shown of what, for Lines.
	request *request
	pieces  []wire.Piece
}
