package window

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Options configures the fitting of a request. The zero value fits it to its
// own model with the ladder.
type Options struct {
	// Format is the format of the body; Auto detects it.
	Format wire.Format
	Limits wire.Limits
	// Model is the model that counts and limits. Empty means the one that the
	// body names, or plain o200k_base counts if it names none.
	Model string
	// Models is the model table; nil means the built-in one.
	Models *token.Models
	// Cache keeps counts between calls; nil means none.
	Cache *token.Cache
	// Scale corrects estimates by what the provider reported.
	Scale token.Scale
	// Window is the context window; 0 means the model's.
	Window int
	// Reserve is reserved for the reply; 0 means the request's own limit, or
	// 8,192.
	Reserve int
	// Margin is the share of the window that is left free: 0 means DefaultMargin,
	// NoMargin nothing.
	Margin float64
	// Budget is the most tokens that the whole request may have; 0 means SPEC
	// B1. If the model is known and Window is 0, it never exceeds what the
	// model accepts.
	Budget int
	// Wish, if not 0, takes the place of what the profile and the thresholds ask for; see
	// Budget.Wish. Policy condense starts there.
	Wish int
	// Low is the size that a cut goes down to; 0 means the budget.
	Low int
	// Policy is one of Policies; empty means ladder.
	Policy string
	// Mode defaults to Hard.
	Mode Mode
	// Thresholds decide when condensing starts (SPEC B3, B4).
	Thresholds Thresholds
	// Profile is the name of a profile: one of Profiles, a built-in one, or
	// one that only Thresholds names, which is like full.
	Profile string
	// Profiles are the caller's own; nil means none.
	Profiles *ProfileTable
	// Words is the most tokens of what people wrote that stay under a profile
	// that keeps it; 0 means the budget, or Low if they would fill the budget.
	Words int
	// Pins are indices of messages that stay.
	Pins []int
	// Out, if not nil, lists the messages that are out already. The ladder
	// then only makes room for what comes back: it removes as little of the
	// rest as it can, the oldest first, and masks nothing.
	Out []int

	// MaxItems is the number of messages that fifo (default 50) and slide (default 40)
	// keep, without the leading system messages. More of them are reason enough to cut,
	// unless only a profile names the policy: that cuts by its budget and threshold.
	MaxItems int
	// Fraction is the share of messages that halve removes. Default 0.5.
	Fraction float64
	// KeepRecent is the number of newest messages that condense keeps. Default 3.
	KeepRecent int
	// First selects what condense does with the first message: FirstKeep (the default),
	// FirstDirectives or FirstSummarise.
	First string
	// KeepResults is the number of newest tool results that mask keeps. Default 3; −1
	// keeps none.
	KeepResults int
	// KeepTools are the names of tools whose results mask and ladder keep.
	KeepTools []string
	// ClearInputs makes mask empty the arguments of masked calls too.
	ClearInputs bool
	// Query is the current subject of the conversation, for relevance.
	Query string
	// Embed returns the vectors by which relevance compares messages with Query. If it is
	// nil or fails, relevance compares words.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	// Condenser writes summaries. Default: the extractive one for condense, the digest for
	// ladder.
	Condenser condense.Condenser
	// SummaryMax is the most tokens of a summary or digest. Default: a tenth of the
	// budget, at most 1,024; less is reserved for the digest of a history without
	// results of tools, which is short.
	SummaryMax int
	// Omit are sentences of users that no longer hold. Summaries and digests leave them
	// out.
	Omit []string
	// Weights are the terms of relevance.
	Weights items.Weights
	// Now is the current time. No other clock is used.
	Now time.Time
}

// Fit returns a body that is valid and within the budget, and the plan that
// explains why each message stayed or left. If nothing has to change it
// returns data itself.
func Fit(ctx context.Context, data []byte, o Options) ([]byte, *Plan, error) {
	b, err := wire.Read(data, o.Format, o.Limits)
	if err != nil {
		return nil, nil, err
	}
	return FitBody(ctx, b, o)
}

// FitBody fits a body that was parsed already.
func FitBody(ctx context.Context, b *wire.Body, o Options) ([]byte, *Plan, error) {
	r := o.request(b)
	v, err := FitView(ctx, r, o)
	if err != nil {
		return nil, nil, err
	}
	if err := r.unbind(v, o.lookup(&b.Request, b.Format).Binds); err != nil {
		return nil, nil, fmt.Errorf("fit: thinking behind the first change: %w", err)
	}
	out, err := b.Write(v.Shown)
	if err != nil {
		return nil, nil, err
	}
	return out, v.Plan, nil
}

// Request is a request that was parsed and counted. The counter must belong to
// the model of the options.
type Request struct {
	chat.Request
	Format  wire.Format
	Rules   chat.Rules
	Counter *token.Counter
	Sizes   token.Sizes
}

// View is what is sent of a request.
type View struct {
	// Shown are its messages. The Index of each names the message that it was
	// made from, even if it has other bytes.
	Shown []wire.Piece
	Plan  *Plan
}

// FitView is FitBody for callers that have counted the request and write the body
// themselves.
func FitView(ctx context.Context, r *Request, o Options) (*View, error) {
	f, err := newFitting(r, o)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := f.decide(ctx)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := f.write(d)
	if f.settings.Mode != Soft && d.lostWords() > 0 {
		if w := f.writeWithWords(ctx, d); w != nil {
			v, err = w, nil
		}
	}
	if f.settings.Mode != Soft && (err != nil || !d.wholePins()) {
		if w := f.writeWithPins(ctx, d); w != nil {
			v, err = w, nil
		}
	}
	return v, err
}

// decide decides with room for rounding, or without it if what must stay does not fit
// otherwise. It asks for a summary in place of the middle only once, without that room:
// a summary that fits is used.
func (f *fitting) decide(ctx context.Context) (*draft, error) {
	s := f.settings
	if !s.Trigger.Manages() { // also in recovery, if the profile is off
		return newDraft(f.history), nil
	}
	if f.policy != "condense" {
		s.Budget = f.careful()
		s.Low = min(s.Low, s.Budget)
	}
	d, err := decide(ctx, f.history, f.policy, s)
	if errors.Is(err, ErrCannotFit) && s.Budget < f.settings.Budget { // then every token counts
		return decide(ctx, f.history, f.policy, f.settings)
	}
	return d, err
}

// writeWithWords writes a view with more of the newest words of the user, whole if that is
// possible, in place of a draft that clips them, or returns nil. What is written differs a
// little from the sum of a draft: the budgets that it tries allow for that.
func (f *fitting) writeWithWords(ctx context.Context, d *draft) *View {
	var best *View
	from := *d
	rooms := []int{0, roundingRoom / 2, roundingRoom, 2 * roundingRoom}
	for i := 0; i < len(rooms); i++ {
		s := f.settings
		s.Budget += rooms[i]
		s.Condenser = nil
		try, err := decide(ctx, f.history, f.policy, s)
		if err != nil {
			continue
		}
		shown, tokens, err := f.view(try)
		if err != nil {
			continue
		}
		if i == 0 {
			rooms = append(rooms, try.tokens()-tokens)
		}
		if tokens > f.settings.Budget || try.lostWords() >= d.lostWords() {
			continue
		}
		try.inherit(&from)
		*d = *try
		best = &View{shown, f.plan(d, tokens)}
		if d.lostWords() == 0 {
			break
		}
	}
	return best
}

// lostWords returns the tokens of the newest words of the user that are clipped.
func (d *draft) lostWords() (tokens int) {
	newest := d.h.newestWords()
	if newest < 0 {
		return 0
	}
	m := &d.h.Messages[newest]
	for _, part := range d.trimmed.of(m, newest) {
		if m.Parts[part].Kind == chat.Text && !m.Parts[part].Inserted() {
			tokens += d.trimmed[partAt{newest, part}].saves
		}
	}
	return tokens
}

// roundingRoom is left free if something must be cut.
const roundingRoom = 32

// careful returns the budget without the room for rounding: a draft sums up
// counts of parts, which differ a little from the count of the whole.
func (f *fitting) careful() int {
	return f.settings.Budget - min(roundingRoom, f.settings.Budget/32)
}

// WouldFit reports whether Fit would do anything, and why (SPEC B8). It asks no model: where
// Fit would ask one for a summary in place of the middle, WouldFit reports that.
func WouldFit(b *wire.Body, o Options) (Trigger, error) {
	f, err := newFitting(o.request(b), o)
	if err != nil {
		return Trigger{}, err
	}
	t := f.settings.Trigger
	if !t.Manages() || f.policy == "condense" && o.Condenser != nil {
		return t, nil
	}
	f.settings.Condenser, f.settings.Embed = nil, nil
	d, err := f.decide(context.Background())
	if errors.Is(err, ErrCannotFit) {
		return t, nil // Fit tries and fails
	}
	if err == nil && !d.changed() {
		t.Over, t.Condense = false, false
		t.Reason += ", but there is nothing to leave out"
		if f.settings.Mode == Soft {
			t.Reason += " that saves a tenth"
		}
	}
	return t, err
}

// request counts a body for the model of the options.
func (o *Options) request(b *wire.Body) *Request {
	c := token.NewCounter(o.lookup(&b.Request, b.Format), token.Options{Cache: o.Cache, Scale: o.Scale})
	return &Request{b.Request, b.Format, b.Rules(), c, c.Sizes(&b.Request)}
}

// fitting is one request being fitted.
type fitting struct {
	request  *Request
	history  *History
	policy   string
	settings settings
	low      int     // the low mark that was asked for; that of settings is for drafts
	grown    *Growth // growth of the budget; nil if it did not grow
	warnings []string
}

func newFitting(r *Request, o Options) (*fitting, error) {
	if err := o.check(len(r.Messages)); err != nil {
		return nil, err
	}
	profile, err := o.profile()
	if err != nil {
		return nil, err
	}
	f := &fitting{request: r, policy: cmp.Or(o.Policy, profile.Policy, "ladder")}
	counted := r.Counter.Sum(r.Sizes)
	budget, err := BudgetOf(Bounds{
		Model: o.lookup(&r.Request, r.Format), Window: o.Window, Output: max(r.MaxOutput, r.ThinkingBudget),
		Reserve: o.Reserve,
		Margin:  o.Margin,
		Budget:  o.Budget, Profile: profile, Thresholds: o.Thresholds, Fixed: Fixed(r.Messages, counted),
	})
	if err != nil {
		return nil, err
	}
	if o.Wish > 0 {
		budget.Wish = min(o.Wish, budget.Allowed)
	}
	f.history = HistoryOf(&r.Request, r.Rules, r.Counter, r.Sizes)
	for _, i := range o.Pins {
		f.history.Pinned[i] = true
	}
	crowded := false
	if f.policy != "condense" { // there the wish is when to start, not what must be reached (SPEC B3)
		budget.Allowed, _, crowded, f.grown = f.history.Grow(budget.Wish, budget.Allowed, profile.Words)
	}
	f.settings = settings{Options: o}
	f.settings.Budget, f.settings.Words = budget.Allowed, 0
	if f.settings.Low <= 0 && profile.Low > 0 {
		f.settings.Low = int(profile.Low * float64(budget.Allowed))
	}
	if f.settings.Low <= 0 || f.settings.Low > budget.Allowed {
		f.settings.Low = budget.Allowed
	}
	if profile.Words && f.policy == "ladder" {
		f.settings.Words = cmp.Or(o.Words, budget.Allowed)
		if crowded && o.Words == 0 {
			f.settings.Words = f.settings.Low
		}
	}
	if f.settings.Mode == "" {
		f.settings.Mode = Hard
	}
	threshold, warning := o.Thresholds.For(profile)
	if warning != "" {
		f.warnings = append(f.warnings, warning)
	}
	f.settings.Trigger = WouldManage(f.history.Total(), budget, threshold, f.policy == "condense")
	if items, most := f.history.items(), itemLimit(f.policy, o.MaxItems); most > 0 && items > most && (o.Policy != "" ||
		o.MaxItems > 0) {
		f.settings.Trigger.Over = true
		f.settings.Trigger.Reason = fmt.Sprintf("%d messages are over the %d allowed", items, most)
	}
	if f.settings.Mode == Recovery {
		f.settings = f.settings.recovering(f.history.Total())
		f.settings.Trigger.Over = true
		f.settings.Trigger.Reason = "the provider refused it: recovery always gets smaller"
	}
	if profile.Off {
		f.settings.Trigger = Trigger{Reason: "the profile is off"}
	}
	f.low = f.settings.Low
	f.followScale(counted)
	return f, nil
}

// followScale makes the sizes of drafts follow the calibration where it is not a line, so
// that a draft as large as the budget, or as the low mark, counts as much when it is written.
func (f *fitting) followScale(counted token.Breakdown) {
	atBudget := f.request.Counter.Unsaved(counted, f.settings.Budget)
	atLow := f.request.Counter.Unsaved(counted, f.settings.Low)
	f.history.keepUnsaved(atBudget)
	f.settings.Low -= atLow - atBudget
}

// profile returns the profile of the options.
func (o *Options) profile() (Profile, error) {
	p, err := o.Profiles.Lookup(o.Profile)
	if _, named := o.Thresholds.Profiles[o.Profile]; err != nil && named {
		p, err = o.Profiles.Lookup("full")
		p.Name = o.Profile
	}
	return p, err
}

// model returns the name of the model that counts and limits a request.
func (o *Options) model(r *chat.Request) string { return cmp.Or(o.Model, r.Model) }

// lookup returns that model, or plain o200k_base if none is named.
func (o *Options) lookup(r *chat.Request, f wire.Format) token.Model {
	models := o.Models
	if models == nil {
		models = token.Builtin()
	}
	name := o.model(r)
	m := models.Lookup(name)
	if name == "" {
		m = token.Model{Encoding: "o200k_base", Exact: true, Window: m.Window}
	}
	return Served(m, r, f, Told{})
}

// itemLimit returns the most messages that a policy keeps, or 0 if it does not
// count them.
func itemLimit(policy string, asked int) int {
	usual := map[string]int{"fifo": DefaultFIFO, "slide": DefaultSlide}[policy]
	if usual > 0 && asked > 0 {
		return asked
	}
	return usual
}

// items counts messages, without the leading system messages.
func (h *History) items() int {
	n := len(h.Messages)
	if x := h.Cuts.Exchanges; len(x) > 0 && x[0].First == chat.Preamble {
		n -= x[0].End
	}
	return n
}

// check rejects invalid options with advice.
func (o *Options) check(messages int) error {
	for _, v := range []struct {
		name string
		n    int
	}{{"budget", o.Budget}, {"wish", o.Wish}, {"low mark", o.Low}, {"window", o.Window}, {"reserve", o.Reserve},
		{"number of items", o.MaxItems}, {"number of recent messages", o.KeepRecent}} {
		if v.n < 0 {
			return fmt.Errorf("a %s of %d: it must be 0 or more", v.name, v.n)
		}
	}
	if !number.Within(o.Fraction, 0, 1) {
		return fmt.Errorf("a fraction of %g: it must be between 0 and 1", o.Fraction)
	}
	if err := CheckMargin(o.Margin); err != nil {
		return err
	}
	if err := o.Weights.Check(); err != nil {
		return err
	}
	if o.Policy != "" && policies[o.Policy] == nil {
		return fmt.Errorf("unknown policy %q: use one of %s, or trajectory for a trajectory", o.Policy,
			strings.Join(Policies(), ", "))
	}
	switch o.Mode {
	case "", Soft, Hard, Recovery:
	default:
		return fmt.Errorf("unknown mode %q: use soft, hard or recovery", o.Mode)
	}
	switch o.First {
	case "", FirstKeep, FirstDirectives, FirstSummarise:
	default:
		return fmt.Errorf("unknown first-message rule %q: use keep, directives or summarise", o.First)
	}
	if i := slices.IndexFunc(o.Pins, func(i int) bool { return i < 0 || i >= messages }); i >= 0 {
		return fmt.Errorf("pin %d: the request has only messages 0 to %d", o.Pins[i], messages-1)
	}
	if slices.Contains(o.KeepTools, "") {
		return errors.New("a tool to keep has no name: give names such as read_file")
	}
	if o.Low > 0 && o.Budget > 0 && o.Low > o.Budget {
		return fmt.Errorf("a low mark of %d is over the budget of %d: give a low mark below it", o.Low, o.Budget)
	}
	return nil
}
