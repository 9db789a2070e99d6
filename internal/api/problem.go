package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
)

// problem is an error as RFC 9457 describes it.
type problem struct {
	// The kind of error.
	Title  string `json:"title"`
	Status int    `json:"status"`
	// What is wrong, and where.
	Detail string `json:"detail"`
	// What to do.
	Hint string `json:"hint"`

	cause error // for the log
}

func (p *problem) Error() string { return p.Detail }

func newProblem(status int, hint, format string, args ...any) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...), Hint: hint}
}

func badRequest(hint, format string, args ...any) *problem {
	return newProblem(http.StatusBadRequest, hint, format, args...)
}

func notFound(hint, format string, args ...any) *problem {
	return newProblem(http.StatusNotFound, hint, format, args...)
}

// hintList is the hint of errors about a conversation that does not exist.
const hintList = "GET " + Prefix + "conversations lists the conversations"

// problemOf returns the problem that a client is sent for an error.
func problemOf(err error) *problem {
	var p *problem
	var e *oriel.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, timeline.ErrNoConversation), errors.Is(err, timeline.ErrNoPlace):
		var missing *report.Missing
		if errors.As(err, &missing) && missing.Many > 0 {
			return notFound("give more of the id", "%s", clip.To(missing.Error(), clip.Text))
		}
		return notFound(hintList, "no such conversation")
	case errors.Is(err, oriel.ErrNoItem):
		return notFound("a message's id is its number in the conversation", "no such message")
	case errors.Is(err, oriel.ErrNoPlan):
		return notFound("GET …/plans lists the plans", "no such plan")
	case errors.Is(err, oriel.ErrCannotFit):
		p := newProblem(http.StatusConflict, "pin single messages, unpin or release others, or choose a larger budget",
			"%s", clip.To(err.Error(), clip.Text))
		if errors.As(err, &e) {
			p.Detail = clip.To(e.Err.Error(), clip.Text)
			if e.Hint != "" {
				p.Hint = e.Hint
			}
		}
		return p
	case errors.Is(err, call.ErrPlanGone), errors.Is(err, report.ErrNotKept):
		return notFound("later calls are kept; GET …/calls lists them", "%s", clip.To(err.Error(), clip.Text))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, "try again, or ask for less",
			"the work was given up before it ended")
	case errors.Is(err, timeline.ErrClosed), errors.Is(err, oriel.ErrClosed):
		return newProblem(http.StatusServiceUnavailable, "wait until the history can be opened: GET "+Prefix+
			"health says why it cannot", "the history is not open")
	case errors.Is(err, timeline.ErrChanged):
		return newProblem(http.StatusConflict, "try again", "others keep changing the conversation")
	}
	return &problem{Title: http.StatusText(http.StatusInternalServerError), Status: http.StatusInternalServerError,
		Detail: "the request failed; the server's log has the reason", Hint: "GET " + Prefix +
			"health shows the state of the history", cause: err}
}

// writeProblem answers with an error.
func (h *Handler) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.cause != nil {
		h.Log.Error("a request to the API failed", "path", r.URL.Path, "error", p.cause)
	}
	body, _ := json.Marshal(p)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Del("Content-Encoding")
	w.WriteHeader(p.Status)
	w.Write(append(body, '\n'))
}
