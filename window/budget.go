package window

import (
	"cmp"
	"fmt"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/token"
)

const (
	// DefaultMargin is the share of the context window that is left free,
	// because counts for other vendors' models are estimates (SPEC B1).
	DefaultMargin = 0.10
	// NoMargin leaves nothing free.
	NoMargin = -1
	// DefaultReserve is reserved for the reply if the request does not limit
	// its length (SPEC B1).
	DefaultReserve = 8192
)

// Budget is how large a request may be (SPEC B1).
type Budget struct {
	// Window is the model's context window.
	Window int
	// Reserved is kept for the reply.
	Reserved int
	// Allowed is the most tokens that the whole request may have.
	Allowed int
	// Wish is what the profile, the threshold and the adaptive size ask for,
	// at most Allowed. The budget exceeds it for what must not be cut; see
	// History.Grow.
	Wish int
}

// Bounds holds everything that decides how large a request may be. Every door
// of Oriel computes the budget of a request from it. Only Model is required.
type Bounds struct {
	Model token.Model
	// Betas are the values of the anthropic-beta header: some widen the window.
	Betas []string
	// Window, if not 0, overrides the model's.
	Window int
	// Output is the length of reply that the request asks for, including
	// thinking, or 0. Reserve, if not 0, overrides it.
	Output, Reserve int
	// Margin is the share of the window that is left free: 0 means DefaultMargin,
	// NoMargin nothing.
	Margin float64
	// Budget, if not 0, is the most tokens that the caller asks for by a
	// number. It is a hard limit: Profile, Thresholds and Size are then
	// ignored. It must not exceed what the model accepts, as far as that is
	// known.
	Budget int
	// Profile, Thresholds and Size are wishes. Size is the most tokens of the
	// messages: the adaptive size of a conversation (SPEC D6).
	Profile    Profile
	Thresholds Thresholds
	Size       int
	// Fixed is the number of tokens of the system prompt and the tools; see
	// the function Fixed.
	Fixed int
	// Learnt, if not nil, returns how much the provider was found to accept
	// with a window for which Oriel assumes allowed.
	Learnt func(window, allowed int) int
}

// BudgetOf returns the budget of a request. A request that asks for a longer
// reply than the window has room for gets a quarter of the window for it or,
// if Window or Reserve is given, an error.
func BudgetOf(o Bounds) (Budget, error) {
	size, most := o.Window, 0
	if size == 0 {
		size, most = o.Model.WindowFor(o.Betas...), o.Model.MaxInput
		if size > o.Model.Window {
			most = 0 // it belongs to the smaller window
		}
	}
	b, err := newBudget(size, cmp.Or(o.Reserve, o.Output), most, o.Margin)
	if err != nil && o.Reserve == 0 && o.Window == 0 {
		b, err = newBudget(size, max(size/4, 1), most, o.Margin)
	}
	switch {
	case o.Budget > 0 && (err != nil || o.Window > 0 || !o.Model.Known): // the caller knows the window better
		b.Allowed = o.Budget
	case err != nil:
		return b, err
	case o.Budget > 0:
		b.Allowed = min(o.Budget, b.Allowed)
	}
	b.Wish = b.Allowed
	if o.Budget == 0 {
		if o.Profile.Budget > 0 {
			// Leave room for some history beside a long system prompt.
			b.Wish = min(b.Wish, max(o.Profile.Budget, o.Fixed+o.Profile.Budget/2))
		}
		if o.Size > 0 {
			b.Wish = min(b.Wish, o.Size+o.Fixed)
		}
		if percent, _ := o.Thresholds.For(o.Profile); percent < 100 {
			b.Wish = min(b.Wish, int(float64(size)*percent/100))
		}
	}
	if o.Learnt != nil {
		b.Allowed = o.Learnt(size, b.Allowed)
		b.Wish = min(b.Wish, b.Allowed)
	}
	return b, nil
}

// Fixed returns the tokens of a counted request that never leave: those of the
// system prompt, even if it consists of leading messages, and of the tools.
func Fixed(messages []chat.Message, n token.Breakdown) int {
	fixed, lead := n.System+n.Tools, 0
	for i := range messages {
		if role := messages[i].Role; role != chat.System && role != chat.Developer {
			return fixed + lead
		}
		lead += n.Messages[i]
	}
	return fixed // all messages belong to the history
}

// newBudget computes allowed = window·(1−margin) − reserved. margin is a
// share below 1, 0 for DefaultMargin, or NoMargin. maxOutput is the reply's
// limit, 0 for the default. maxInput, if not 0, limits the result for models
// that accept less than their window.
func newBudget(window, maxOutput, maxInput int, margin float64) (Budget, error) {
	if err := CheckMargin(margin); err != nil {
		return Budget{}, err
	}
	switch margin {
	case 0:
		margin = DefaultMargin
	case NoMargin:
		margin = 0
	}
	b := Budget{Window: window, Reserved: maxOutput}
	if b.Reserved <= 0 {
		b.Reserved = DefaultReserve
	}
	b.Allowed = window - int(float64(window)*margin) - b.Reserved
	if maxInput > 0 {
		b.Allowed = min(b.Allowed, maxInput)
	}
	if b.Allowed <= 0 {
		return b, fmt.Errorf("a window of %d tokens leaves nothing after a margin of %g%% and %d reserved for the reply: use a larger window, or a smaller reserve or margin", window, 100*margin, b.Reserved)
	}
	return b, nil
}

// CheckMargin returns an error if margin is not a share of the window that can be left free.
func CheckMargin(margin float64) error {
	if margin != NoMargin && (!number.Within(margin, 0, 1) || margin == 1) {
		return fmt.Errorf("a margin of %g: it must be a share of the window from 0 up to, and less than, 1", margin)
	}
	return nil
}

// Thresholds are the percents of the window at which condensing starts (SPEC B4).
type Thresholds struct {
	// Global applies to profiles without a threshold of their own; 0 means
	// 100.
	Global float64
	// Profiles override it by name; −1 inherits.
	Profiles map[string]float64
	// Min and Max are the bounds of valid percents; 0 means 5 and 100.
	Min, Max float64
}

// For returns the percent for a profile, and a warning if a number was
// unusable and the global one, or 100, is used instead. Profiles overrides the
// profile's own threshold.
func (t Thresholds) For(p Profile) (percent float64, warning string) {
	low, high := t.Min, t.Max
	if low == 0 || !number.Finite(low) {
		low = 5
	}
	if high == 0 || !number.Finite(high) {
		high = 100
	}
	global := t.Global
	if global == 0 {
		global = 100
	}
	if !number.Within(global, low, high) {
		warning = fmt.Sprintf("threshold %g%% is outside %g…%g: 100%% is used", global, low, high)
		global = 100
	}
	own, ok := t.Profiles[p.Name]
	if !ok || own == -1 {
		own, ok = p.Threshold, p.Threshold != 0
	}
	switch {
	case !ok || own == -1:
		return global, warning
	case !number.Within(own, low, high):
		return global, fmt.Sprintf("threshold %g%% of profile %q is outside %g…%g: %g%% is used", own, p.Name, low,
			high, global)
	}
	return own, warning
}

// Trigger is whether and why a conversation would be managed.
type Trigger struct {
	// Over reports that the request has more tokens than allowed.
	Over bool
	// Condense reports that condensing is due.
	Condense bool
	// Percent is the share of the window that is used.
	Percent float64
	// Threshold is the percent in effect.
	Threshold float64
	Reason    string
}

// Manages reports whether anything would be done.
func (t Trigger) Manages() bool { return t.Over || t.Condense }

// WouldManage reports in advance whether the next call would manage the
// context (SPEC B3, B8). condenses reports that condensing is on.
func WouldManage(tokens int, b Budget, threshold float64, condenses bool) Trigger {
	t := Trigger{Threshold: threshold, Over: tokens > b.Allowed}
	if b.Window > 0 {
		t.Percent = 100 * float64(tokens) / float64(b.Window)
	}
	wished := b.Wish > 0 && tokens > b.Wish
	t.Condense = condenses && (t.Over || wished || b.Window > 0 && t.Percent >= threshold)
	switch {
	case t.Over:
		t.Reason = fmt.Sprintf("%d tokens are over the %d allowed", tokens, b.Allowed)
	case t.Condense && t.Percent < threshold:
		t.Reason = fmt.Sprintf("%d tokens are over the %d of the profile", tokens, b.Wish)
	case t.Condense:
		t.Reason = fmt.Sprintf("%.1f%% of the window is used, the threshold is %g%%", t.Percent, threshold)
	default:
		t.Reason = fmt.Sprintf("%d tokens are within the %d allowed", tokens, b.Allowed)
	}
	return t
}
