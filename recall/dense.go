package recall

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/oriel-context/oriel/recall/vector"
)

// embedText is what is embedded of a passage: white space is folded (SPEC D2), and
// a person's name says who "I" is.
func embedText(name, text string) string {
	folded := strings.Join(strings.Fields(text), " ")
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
	v, err := s.o.Model.Embed(inner, []string{embedText("", query)})
	switch {
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

// keepVector adds a vector to the index, which begins with the first one.
func (s *Scope) keepVector(v []float32) (id int32, err error) {
	v = fill(v)
	if s.vectors == nil {
		if s.vectors, err = vector.New(len(v)); err != nil {
			return none, err
		}
	}
	n, err := s.vectors.Add(v)
	switch {
	case errors.Is(err, vector.ErrNoDirection): // a text that the model makes nothing of
		return none, nil
	case err != nil:
		return none, err
	}
	return int32(n), nil
}

// dense scores the passages by meaning: in deviations from the mean cosine of the
// scope. Passages without a vector have the mean. cos keeps the cosines, and raw is
// room for as many numbers as there are vectors.
func (s *Scope) dense(query []float32, raw, cos, z []float32) error {
	mean, std, err := s.vectors.Scores(query, raw)
	if err != nil {
		return err
	}
	scale := 1 / max(std, 1e-6)
	for i, id := range s.vectorOf {
		if id >= 0 {
			cos[i] = raw[id]
			z[i] = (raw[id] - mean) * scale
		}
	}
	return nil
}
