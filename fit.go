package oriel

import (
	"context"
	"time"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// FitOptions are the settings of Fit: those of window.Options. The zero value fits a
// request to its own model with the ladder.
type FitOptions struct {
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
	// Margin is the share of the window that is left free: 0 means a tenth,
	// window.NoMargin nothing.
	Margin float64
	// Budget is the most tokens that the whole request may have; 0 means SPEC
	// B1. If the model is known and Window is 0, it never exceeds what the
	// model accepts.
	Budget int
	// Wish, if not 0, takes the place of what the profile and the thresholds ask for.
	// Policy condense starts there.
	Wish int
	// Low is the size that a cut goes down to; 0 means the budget.
	Low int
	// Policy is one of window.Policies; empty means ladder.
	Policy string
	// Mode defaults to window.Hard.
	Mode window.Mode
	// Thresholds decide when condensing starts (SPEC B3, B4).
	Thresholds window.Thresholds
	// Profile is the name of a profile: one of Profiles, a built-in one, or
	// one that only Thresholds names, which is like full.
	Profile string
	// Profiles are the caller's own; nil means none.
	Profiles *window.ProfileTable
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
	// First selects what condense does with the first message: window.FirstKeep (the
	// default), window.FirstDirectives or window.FirstSummarise.
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
	// budget, at most 1,024.
	SummaryMax int
	// Omit are sentences of users that no longer hold. Summaries and digests leave them
	// out.
	Omit []string
	// Weights are the terms of relevance.
	Weights items.Weights
	// Now is the current time. No other clock is used.
	Now time.Time
}

// Fit fits one request body to its model, without any state. It returns a valid body
// within the budget, and the plan with the reason why each message stayed or left.
//
// Fit does not modify body, so that undoing its plan means sending body. If nothing has to
// change, Fit returns body itself, not a copy.
func Fit(ctx context.Context, body []byte, o FitOptions) ([]byte, *Plan, error) {
	if ctx.Err() != nil {
		return nil, nil, &Error{Op: "fit", Err: context.Cause(ctx)}
	}
	fitted, plan, err := window.Fit(ctx, body, window.Options(o))
	return fitted, (*Plan)(plan), err
}
