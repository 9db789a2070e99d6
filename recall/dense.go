package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// fewProse is how many words of prose a passage has at least whose code is not embedded.
const fewProse = 8

// embedText returns what is embedded of a passage. White space is folded (SPEC D2). A
// person's name says who "I" is. Code in fences is left out where there is prose beside
// it: a model of sentences makes little of code, and reads only the beginning of a text.
func embedText(name, text string) string {
	words := strings.Fields(text)
	if prose := strings.Fields(fenced.ReplaceAllString(text, " ")); len(prose) >= fewProse {
		words = prose
	}
	folded := strings.Join(words, " ")
	if name != "" {
		return name + ": " + folded
	}
	return folded
}

// queryVector embeds a query, or gives up while there is still time to answer by
// words alone: nil without an error.
func (s *Scope) queryVector(ctx context.Context, query string) ([]float32, error) {
	inner := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		inner, cancel = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/4))
		defer cancel()
	}
	var v [][]float32
	err := recovered(func() (err error) {
		v, err = s.queries.Embed(inner, []string{embedText("", query)})
		return err
	})
	switch {
	case err == nil && len(v) != 1:
		return nil, fmt.Errorf("recall: %s gave %d vectors for 1 text", s.o.Model.Name(), len(v))
	case err == nil:
		return fill(v[0]), nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return nil, nil
	}
	return nil, err
}

// lane is what the index wants the number of dimensions to be a multiple of.
const lane = 32

// fill adds zeros, which change no cosine, up to a multiple of lane.
func fill(v []float32) []float32 {
	if rest := len(v) % lane; rest != 0 {
		v = append(v, make([]float32, lane-rest)...)
	}
	return v
}
