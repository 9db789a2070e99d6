package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/bound"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/voice"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
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
	// recalls, and never more than a tenth of the budget. Default 2,048.
	RecallTokens int
	// RecallWait is the longest that a call waits for recall. Default 50 ms.
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
	// Low is the share of the budget that a cut goes down to. Default one
	// half.
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
	recalls bound.Work
}

// DefaultRecallWait is the default of Options.RecallWait.
const DefaultRecallWait = 50 * time.Millisecond

// New returns a Viewer.
func New(o Options) *Viewer {
	o.RecallTokens = cmp.Or(o.RecallTokens, recall.DefaultBudget)
	o.RecallWait = cmp.Or(o.RecallWait, DefaultRecallWait)
	o.Low = cmp.Or(o.Low, .5)
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
	// Betas are the provider's features that the request asks for.
	Betas []string
	// PlainCache reports that the upstream caches plain prefixes, as vLLM and
	// local servers do. The part of Claude Code's billing line that changes
	// with every call, which means nothing to them, is then sent as zeros.
	PlainCache bool
	// Pins are the depths of the messages that stay.
	Pins []int
	// Agree, if set, makes a decision that of all processes, unless one of them was
	// first.
	Agree func(Decision) Verdict
	// Project returns the project of a new conversation, or "". It may be nil.
	Project func() string
	Now     time.Time
}

// Decision is what a process is about to send.
type Decision struct {
	// Cut is a new cut; nil if nothing is recalled for the newest words of a
	// request and nothing else is new.
	Cut *Cut
	// Before are the cuts of the index from which the decision was made.
	Before []any
	// Recalled reports that the cut has something that was recalled for the newest
	// words.
	Recalled bool
}

// Verdict is whether the decision of this process counts.
type Verdict int

// The verdicts.
const (
	// Agreed: it counts.
	Agreed Verdict = iota
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
	Cut  *Cut
	New  bool
	Made []*Cut
	// Folded reports that this call left something out; otherwise its cuts
	// only remember what was inserted.
	Folded bool
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

	again bool // a second step follows
}

// Show decides what is sent.
func (v *Viewer) Show(ctx context.Context, in *Input) (*Result, error) {
	if v.o.Index == nil {
		return nil, errors.New("show a view: the viewer has no index: set Options.Index, or use Fit")
	}
	s, err := v.newRequest(in)
	if err != nil {
		return nil, err
	}
	if s.profile.Off || s.managed() {
		return s.leave(), nil
	}
	var made []*Cut
	var first *Result // of two steps
	for ctx.Err() == nil {
		before := v.o.Index.PlansAt(in.Thread)
		cut := s.usable(before)
		s.reset()
		recalled := s.recalled
		s.recallsNewest, s.foundNothing = false, false
		r, fresh, err := s.show(ctx, cut)
		if err != nil {
			return r, err
		}
		if fresh != nil {
			if !s.agreed(Decision{fresh, before, s.recallsNewest}) || !v.o.Index.AddPlan(in.Thread, fresh.Covers, fresh.ID, before, fresh) {
				s.recalled = recalled
				continue // another call was first: use its cut
			}
			v.o.Condense.follow(s, cut, fresh)
			made = append(made, fresh)
			s.steps++
		}
		if first != nil {
			r.Folded, r.Restored, r.Left, r.Refused = first.Folded, first.Restored, first.Left, first.Refused
			if r.Grown == nil { // it was needed for the first step
				r.Budget, r.Grown = first.Budget, first.Grown
			}
		}
		first = r
		if fresh == nil || !r.again || len(made) > 1 {
			if s.foundNothing && !s.agreed(Decision{Before: v.o.Index.PlansAt(in.Thread)}) {
				continue
			}
			r.New, r.Made = len(made) > 0, made
			if r.RecallBegan = s.recallBegan; !r.RecallBegan.IsZero() {
				r.RecallTook = s.recallWait - s.recallTime.Left
			}
			return r, nil
		}
	}
	return nil, ctx.Err()
}

// agreed reports whether a decision counts. If another process has recalled
// nothing for the same words, this one recalls nothing either.
func (s *request) agreed(d Decision) bool {
	if s.Agree == nil {
		return true
	}
	verdict := s.Agree(d)
	s.quiet = s.quiet || verdict == Quiet
	return verdict == Agreed
}

// Apply shows a request as the last call was shown, and decides nothing, for
// callers that only count.
func (v *Viewer) Apply(in *Input) (*Result, error) {
	s, err := v.newRequest(in)
	if err != nil {
		return nil, err
	}
	if s.profile.Off || s.managed() {
		return s.leave(), nil
	}
	return s.again(s.usable(v.o.Index.PlansAt(in.Thread)))
}

// ApplyCut shows a request by the cut that was made for it, as the call was sent. It
// decides nothing and needs no index. A nil cut changes nothing. depths are the depths of
// the body's messages in the history, from 1 on, or 0 for those that have none.
func (v *Viewer) ApplyCut(in *Input, cut *Cut) (r *Result, depths []int, err error) {
	s, err := v.newRequest(in)
	if err != nil {
		return nil, nil, err
	}
	pieces, err := s.apply(cut)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range pieces {
		depths = append(depths, s.depth(p.Index))
	}
	r, err = s.again(cut)
	return r, depths, err
}

// usable returns the first of the cuts found for a request by which it can be
// shown, or nil. A cut may have been made for a smaller budget; a client that
// trims its history may send too little of what a cut keeps; and the newest
// turn of a client that goes back may be what a cut dropped as old.
func (s *request) usable(found []any) *Cut {
	if len(found) == 0 {
		return nil
	}
	came := chat.NewCuts(s.Body.Messages, s.Body.Rules())
	for _, value := range found {
		if cut, ok := value.(*Cut); ok && !s.void(cut) && s.shows(came, cut) {
			return cut
		}
	}
	return nil
}

// shows reports whether a request can be shown by a cut.
func (s *request) shows(came *chat.Cuts, cut *Cut) bool {
	if last := s.depth(len(s.Body.Messages) - 1); cut.ExceptNewest && last > 0 && last <= cut.Covers {
		return false
	}
	pieces, err := s.apply(cut)
	return err == nil && s.sound(came, pieces)
}

// sound reports whether what is left of a request is no more broken than the
// request: no exchange has lost a part, and nothing comes before the first
// question.
func (s *request) sound(came *chat.Cuts, pieces []wire.Piece) bool {
	shown := make([]chat.Message, len(pieces))
	for i, p := range pieces {
		shown[i] = *s.message(p)
	}
	left := chat.NewCuts(shown, s.Body.Rules())
	return broken(left) <= broken(came) && (opens(left) == chat.Question || opens(came) != chat.Question)
}

func broken(c *chat.Cuts) int {
	n := 0
	for _, x := range c.Exchanges {
		if x.Broken != "" {
			n++
		}
	}
	return n
}

// opens returns the side that speaks first.
func opens(c *chat.Cuts) chat.Side {
	for _, x := range c.Exchanges {
		if x.First != chat.Preamble {
			return x.First
		}
	}
	return chat.Preamble
}

// again shows a request by a cut that was made before.
func (s *request) again(cut *Cut) (*Result, error) {
	pieces, err := s.apply(cut)
	if err != nil {
		return nil, err
	}
	body, n, err := s.write(pieces, s.count(pieces))
	if err != nil {
		return nil, err
	}
	return &Result{Body: body, Changed: s.changed(body), Before: s.before.Total, After: n.Total, Local: n.Local, Action: cut.action(), Cut: cut, Room: s.room(), Budget: s.hard}, nil
}

// request holds one request while its view is made.
type request struct {
	*Input
	v       *Viewer
	profile window.Profile
	model   token.Model
	counter *token.Counter
	limits
	recalls bool            // it has Oriel's recall tool
	lead    int             // leading system messages
	sizes   token.Sizes     // of the request
	before  token.Breakdown // of the request
	parsed  map[*byte]*readMessage
	pins    map[int]bool // see pinned
	steps   int          // cuts that this call made
	// recalled is the number of tokens that this call has recalled so far.
	recalled int
	failed   error // what recall failed with
	// recallsNewest reports that the last draft has something that was recalled for
	// the newest words, foundNothing that nothing was found for them; quiet that
	// nothing may be recalled.
	recallsNewest, foundNothing, quiet bool
	// notes are what people made of their instructions, by depth, nil until they are
	// read; omit are the sentences that no longer hold.
	notes map[int]string
	omit  []string
	// recallWait is the longest that this call waits for recall.
	recallWait time.Duration
	// recallTime and summaryTime are what is left of the time that this call may wait.
	recallTime, summaryTime bound.Budget
	recallBegan             time.Time // the first search; zero if there was none
}

// scale returns how the provider was found to count for the tenant.
func (v *Viewer) scale(in *Input) token.Scale {
	return v.o.Calibration.Scale(token.LearntKey(in.Thread.Tenant, in.Body.Model))
}

// asked returns the model with a window, as the key for learnt limits.
func (in *Input) asked(window int) token.Asked {
	return token.Asked{Tenant: in.Thread.Tenant, Conversation: in.Thread.Conversation, Model: in.Body.Model, Window: window}
}

func (v *Viewer) newRequest(in *Input) (*request, error) {
	s := &request{Input: in, v: v, parsed: map[*byte]*readMessage{}, recallWait: v.o.RecallWait, recallTime: bound.Budget{Left: v.o.RecallWait}}
	if v.o.Condense != nil {
		s.summaryTime.Left = v.o.Condense.o.Wait
	}
	var err error
	if s.profile, err = v.o.Profiles.Lookup(in.Profile); err != nil {
		return nil, err
	}
	s.model = v.o.Models.Lookup(in.Body.Model)
	s.recalls = voice.FindTool(in.Body.Tools, voice.ToolRecall) != ""
	s.counter = token.NewCounter(s.model, token.Options{Cache: v.o.Cache, Scale: v.scale(in)})
	in.Thread.Audience = audience(s.model.ID, in.Body.Format)
	system, _ := thread.Chain(in.Body.Messages)
	s.lead = len(system)
	s.sizes = s.counter.Sizes(&in.Body.Request)
	s.before = s.counter.Sum(s.sizes)
	if err := s.limit(); err != nil {
		return nil, err
	}
	return s, nil
}

// audience returns the name of the model and format that a cut applies to: its bytes are
// in one format.
func audience(model string, f wire.Format) string { return model + " " + f.String() }

// managed reports whether the provider manages the window itself, and the call
// does not ask for a budget.
func (s *request) managed() bool {
	return s.Body.Managed != "" && s.Budget == 0 && !s.Asked
}

func (s *request) leave() *Result {
	r := &Result{Body: s.steady(s.Body.Data()), Before: s.before.Total, After: s.before.Total, Local: s.before.Local, Action: "none", Room: s.room(), Budget: s.budget, Grown: s.grown}
	r.Changed = s.changed(r.Body)
	if s.managed() {
		r.Why = fmt.Sprintf("the request has %s: its provider manages the window", s.Body.Managed)
	}
	return r
}

// depth returns the depth of message i of the body in the history, from 1 on,
// or 0 if it is not part of it.
func (s *request) depth(i int) int {
	t := s.Thread
	switch i -= s.lead; {
	case i < 0:
		return 0
	case i >= t.From:
		return len(t.Before) + i - t.From + 1
	case i < t.Head:
		return i + 1
	}
	return 0
}

// identity returns the identity of message i.
func (s *request) identity(i int) timeline.Hash { return timeline.Identity(&s.Body.Messages[i]) }

// show makes the view that continues from a cut; fresh is the cut that it
// made, or nil. The first of two steps has no body.
func (s *request) show(ctx context.Context, cut *Cut) (r *Result, fresh *Cut, err error) {
	pieces, err := s.apply(cut)
	if err != nil {
		return nil, nil, err
	}
	e, back, left, refused := s.bringBack(ctx, cut, s.newDraft(cut, pieces))
	e.rebind()
	if err := e.fill(ctx, s.unsent(), s.budget/2); err != nil { // as if the tool had answered in full
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil { // nobody waits any more
		return nil, nil, err
	}
	total := s.count(e.pieces)
	if total.Total > s.budget {
		s.grow(cut)
	}
	if over := total.Total > s.budget; over || s.free(cut, total.Total) {
		if err := e.cut(ctx, s.low(), window.Hard); err != nil && (over || !errors.Is(err, window.ErrCannotFit)) {
			return nil, nil, err
		}
		total = s.count(e.pieces)
		if again := s.cutAnew(ctx, cut, total.Total); again != nil {
			e, total = again, s.count(again.pieces)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if len(back) == 0 { // what people restore comes first
		if ok, err := e.recall(ctx, total.Total); err != nil {
			return nil, nil, err
		} else if ok {
			total = s.count(e.pieces)
		}
	}
	if cut == nil && !e.changed {
		return s.leave(), nil, nil
	}
	r = &Result{Before: s.before.Total, After: total.Total, Local: total.Local, Action: cut.action(), Cut: cut, Room: s.room(), Budget: s.budget, Grown: s.grown, Recalled: s.recalled, Restored: back, Left: left, Refused: refused, Failed: s.failed}
	r.again = e.again
	if e.changed {
		fresh = e.finish(total.Total)
		r.Cut, r.New, r.Action = fresh, true, fresh.action()
		r.Folded = e.plan != nil
		if left := s.missing(fresh); len(left) > 0 {
			if !cut.refuses(s.Pins) {
				r.Refused = s.noRoom(left)
			}
			fresh.noRoom.Store(&s.Pins)
		}
	}
	if r.again && s.steps == 0 { // the next step writes the body
		return r, fresh, nil
	}
	r.Body, total, err = s.write(e.pieces, total)
	r.Changed = s.changed(r.Body)
	r.After, r.Local = total.Total, total.Local
	return r, fresh, err
}

// unsent returns the first message that no model has seen: what follows the
// last reply. Everything before it is in the provider's cache.
func (s *request) unsent() int {
	for i := len(s.Body.Messages) - 1; i >= s.lead; i-- {
		switch m := &s.Body.Messages[i]; {
		case m.Role == chat.Assistant, m.Type != "" && m.Type != "message" && !returns(m):
			return i + 1
		}
	}
	return s.lead
}

// returns reports whether an item of Responses is the result of a tool.
func returns(m *chat.Message) bool {
	return len(m.Parts) > 0 && m.Parts[0].Kind == chat.Result && !m.Parts[0].Hosted
}

func (c *Cut) action() string {
	if c == nil {
		return "none"
	}
	action := c.Plan.Action
	if len(c.Recalled) > 0 {
		if action == "none" {
			return "recall"
		}
		action += "+recall"
	}
	return action
}

// apply does to the request what a cut did to an earlier one.
func (s *request) apply(cut *Cut) ([]wire.Piece, error) {
	pieces := s.Body.Whole()
	if cut == nil {
		return pieces, nil
	}
	out := pieces[:0]
	for _, p := range pieces {
		d := s.depth(p.Index)
		if d > 0 && d <= cut.Covers {
			if cut.Dropped.Has(d) {
				continue
			}
			p.Raw = s.named(cut.Replaced[d])
		} else if d == 0 && p.Index >= s.lead && len(cut.ClientOwn) > 0 {
			raw, ok := cut.ClientOwn[s.identity(p.Index)]
			if ok && raw == nil {
				continue
			}
			p.Raw = s.named(raw)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, errors.New("a cut leaves nothing of the request")
	}
	return out, nil
}

// named returns what is sent in place of a message. Its stubs and markers name Oriel's recall
// tool only if the request has it, also if the cut was made for one that had.
func (s *request) named(raw []byte) []byte {
	if raw == nil || s.recalls {
		return raw
	}
	return voice.WithoutTool(raw)
}

// readMessage is a message that was made here, with its size.
type readMessage struct {
	chat.Message
	size token.Size
}

// message returns the message of a piece.
func (s *request) message(p wire.Piece) *chat.Message {
	if p.Raw == nil {
		return &s.Body.Messages[p.Index]
	}
	return &s.read(p).Message
}

// read parses and counts the bytes of a piece that has its own.
func (s *request) read(p wire.Piece) *readMessage {
	m := s.parsed[&p.Raw[0]]
	if m == nil {
		read, err := wire.ReadMessage(s.Body.Format, p.Raw)
		if err != nil { // it was made here
			read = chat.Message{Role: s.Body.Messages[p.Index].Role, Raw: p.Raw}
		}
		m = &readMessage{read, s.counter.Size(&read)}
		s.parsed[&p.Raw[0]] = m
	}
	return m
}

// count counts the request with these messages.
func (s *request) count(pieces []wire.Piece) token.Breakdown {
	if len(pieces) == len(s.Body.Messages) && !slices.ContainsFunc(pieces, func(p wire.Piece) bool { return p.Raw != nil }) {
		return s.before
	}
	return s.counter.Sum(s.sizesOf(pieces))
}

// sizesOf returns the sizes of the request with these messages.
func (s *request) sizesOf(pieces []wire.Piece) token.Sizes {
	out := s.sizes
	out.Messages = make([]token.Size, len(pieces))
	for i, p := range pieces {
		if p.Raw == nil {
			out.Messages[i] = s.sizes.Messages[p.Index]
		} else {
			out.Messages[i] = s.read(p).size
		}
	}
	return out
}

// counted returns the request with these messages, for package window.
func (s *request) counted(pieces []wire.Piece) *window.Request {
	r := &window.Request{Request: s.Body.Request, Format: s.Body.Format, Rules: s.Body.Rules(), Counter: s.counter, Sizes: s.sizesOf(pieces)}
	r.Messages = make([]chat.Message, len(pieces))
	for i, p := range pieces {
		r.Messages[i] = *s.message(p)
	}
	return r
}

// fixed returns the tokens of what never leaves: the system prompt and the
// tools.
func (s *request) fixed() int { return window.Fixed(s.Body.Messages, s.before) }
