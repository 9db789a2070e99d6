package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/limit"
)

// fewProse is the least number of words of prose for which the code beside
// them is not embedded.
const fewProse = 8

// embedText returns the part of a passage that is embedded. White space is
// folded (SPEC D2). The speaker's name is included, because it tells who "I"
// is. Fenced code is left out if there is enough prose: a sentence model makes
// little of code and reads only the beginning of a text.
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

// queryVector embeds a query. It returns nil without an error if it gives up
// so that there is still time to search by words alone.
func (s *Scope) queryVector(ctx context.Context, query string) ([]float32, error) {
	inner := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		inner, cancel = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/4))
		defer cancel()
	}
	v, err := limit.Do(inner, &s.asking, func(ctx context.Context) ([][]float32, error) {
		return s.queries.Embed(ctx, []string{embedText("", query)})
	})
	switch {
	case err == nil && len(v) != 1:
		return nil, fmt.Errorf("recall: %s returned %d vectors for 1 text", s.o.Model.Name(), len(v))
	case err == nil:
		return fill(v[0]), nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return nil, nil
	}
	return nil, err
}

// The index requires a number of dimensions that is a multiple of lane.
const lane = 32

// fill pads v with zeros to a multiple of lane. Zeros change no cosine.
func fill(v []float32) []float32 {
	if rest := len(v) % lane; rest != 0 {
		v = append(v, make([]float32, lane-rest)...)
	}
	return v
}
