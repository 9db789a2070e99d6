package oriel

import (
	"context"

	"github.com/oriel-context/oriel/window"
)

// FitOptions are the settings of Fit. The zero value fits a request to its own model with the
// ladder.
type FitOptions = window.Options

// Fit fits one request body to its model, without any state. It returns a valid body
// within the budget, and the plan with the reason why each message stayed or left.
//
// Fit does not modify body, so that undoing its plan means sending body. If nothing has to
// change, Fit returns body itself, not a copy.
func Fit(ctx context.Context, body []byte, o FitOptions) ([]byte, *Plan, error) {
	if ctx.Err() != nil {
		return nil, nil, &Error{Op: "fit", Err: context.Cause(ctx)}
	}
	return window.Fit(ctx, body, o)
}
