package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// entry is the record of a call; see docs/reference/format/calls.md.
type entry struct {
	V      int         `json:"v"`
	Format string      `json:"format"`
	Path   string      `json:"path"`
	Model  string      `json:"model,omitempty"`
	Thread thread.Kind `json:"thread"`
	// Messages is the number of messages of the history in the request, beginning with
	// the first, or behind the first Before ones. In the latter case, Own are the
	// contents of the messages in front of them, of which the first Head are also the
	// history's first.
	Messages int    `json:"messages"`
	Before   int    `json:"before,omitempty"`
	Head     int    `json:"head,omitempty"`
	Forms    string `json:"forms,omitempty"`
	// System is the system prompt, part by part. The first Apart parts were not among the
	// messages; Plain reports that they were one text and not a list.
	System []string        `json:"system,omitempty"`
	Apart  int             `json:"apart,omitempty"`
	Plain  bool            `json:"plain,omitempty"`
	Tools  string          `json:"tools,omitempty"`
	Rest   json.RawMessage `json:"rest,omitempty"`
	Own    []string        `json:"own,omitempty"`
	// Frame is the content of wire.Body.Frame; empty if there is none.
	Frame string `json:"frame,omitempty"`

	Began   time.Time `json:"began"`
	FirstMS float64   `json:"first_ms,omitempty"`
	MS      float64   `json:"ms"`
	Status  int       `json:"status,omitempty"`
	// Outcome is absent from records of earlier versions.
	Outcome event.Outcome `json:"outcome,omitempty"`
	Error   string        `json:"error,omitempty"`
	// RetryAfter is the header of that name of an answer that is an error.
	RetryAfter string `json:"retry_after,omitempty"`

	Reply   string `json:"reply,omitempty"` // the provider's id
	Stop    string `json:"stop,omitempty"`
	Partial string `json:"partial,omitempty"` // content: what came of a reply that was cut off
	Tokens  int    `json:"tokens,omitempty"`
	// Came is the size of the request in tokens if less was sent. Plan is the key of the
	// plan by which it was sent; see plan.IDOf.
	Came int    `json:"came,omitempty"`
	Plan string `json:"plan,omitempty"`
	// Profile, Wish and Hard are the settings of its view, see view.Room; zero if no view
	// was made.
	Profile string       `json:"profile,omitempty"`
	Wish    int          `json:"wish,omitempty"`
	Hard    int          `json:"hard,omitempty"`
	Usage   *event.Usage `json:"usage,omitempty"`
	// Repeats is nil if the call before is not known.
	Repeats *Repeats `json:"repeats,omitempty"`
	// Would is what other profiles would have sent, by their names, under the profile observe.
	Would map[string]Would `json:"would,omitempty"`
	// Diagnosis is the provider's own reason for a cache miss.
	Diagnosis string `json:"diagnosis,omitempty"`
	// Managed is the field with which the request asked the provider to manage the window.
	Managed string `json:"managed,omitempty"`
	// Marked reports that the view asked for the provider's cache.
	Marked bool `json:"marked,omitempty"`
	// Drops reports that the view asked the provider to drop thinking that lost its place.
	Drops bool `json:"drops,omitempty"`
}

func (c *Call) entry(reply *wire.Reply, err error) *entry {
	e := &entry{
		V: 1, Format: c.body.Format.String(), Path: c.clean(c.request.Path, clip.Line), Model: c.body.Model,
		Thread:   c.thread.Kind,
		Messages: len(c.chain) - c.thread.From, Before: len(c.thread.Before), Head: c.thread.Head,
		Began: timeline.Micro(c.began), MS: ms(c.ended.Sub(c.began)), Status: c.status,
		Reply: c.clean(reply.ID, clip.Name), Stop: c.clean(reply.Stop, clip.Name), Tokens: c.tokens.Total,
		Diagnosis: reply.Diagnosis,
		Managed:   c.body.Managed, Marked: c.tuning.o.MarkCache && c.shown != nil,
	}
	e.Drops = c.Beta() != ""
	e.Repeats = c.engine.lines.repeats(c, reply.Usage.HasUsage)
	if s := c.shown; s != nil {
		e.Profile, e.Wish, e.Hard = c.tuning.profile(c.request), s.Room.Wish, s.Room.Hard
		if s.Before != c.tokens.Total {
			e.Came = s.Before
		}
	}
	if !c.first.IsZero() {
		e.FirstMS = ms(c.first.Sub(c.began))
	}
	if u := reply.Usage; u.HasUsage {
		e.Usage = &event.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
			Hour: u.CacheWrite1h, Reasoning: u.Reasoning, Service: c.clean(u.Service, clip.Name)}
	}
	e.Outcome = event.OutcomeFailed
	switch {
	case err != nil:
		if errors.Is(err, ErrLeft) {
			e.Outcome = event.OutcomeLeft
		}
		e.Error = c.clean(err.Error(), clip.Text)
	case c.status >= http.StatusBadRequest:
		what := "no error in a form that is known here"
		if reply.Error != nil {
			what = reply.Error.Text()
		}
		e.Error = c.clean(fmt.Sprintf("status %d: %s", c.status, what), clip.Text)
	case reply.Error != nil: // in a stream
		e.Error = c.clean(reply.Error.Error(), clip.Text)
	default:
		e.Outcome = event.OutcomeWhole
	}
	e.RetryAfter = c.clean(c.retryAfter, clip.Name)
	return e
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
