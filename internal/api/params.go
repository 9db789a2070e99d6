package api

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a machine may have no zones

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/report"
)

// integer returns a whole number, or fallback if it is absent.
func (q *request) integer(p *parameter, fallback int64) (int64, error) {
	text := q.URL.Query().Get(p.name)
	if text == "" && !q.URL.Query().Has(p.name) {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < p.least || n > p.most {
		return 0, badRequest("give a whole number from "+strconv.FormatInt(p.least, 10)+" to "+
			strconv.FormatInt(p.most, 10), "parameter %q is %.40q", p.name, text)
	}
	return n, nil
}

// choice returns one of the values that a parameter may have, the first if it is absent.
func (q *request) choice(p *parameter) (string, error) {
	if !q.URL.Query().Has(p.name) {
		return p.values[0], nil
	}
	text := q.URL.Query().Get(p.name)
	if !slices.Contains(p.values, text) {
		return "", badRequest("give "+strings.Join(p.values, ", "), "parameter %q is %.40q", p.name, text)
	}
	return text, nil
}

// now returns the time in the zone that the request names.
func (q *request) now() (time.Time, error) {
	name := q.URL.Query().Get("zone")
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return time.Time{}, badRequest("give an IANA name such as Europe/Berlin", "parameter %q is %.40q", "zone", name)
	}
	return q.Now().In(zone), nil
}

// since returns the time from which calls count, or the zero time if it is absent.
func (q *request) since(now time.Time) (time.Time, error) {
	text := q.URL.Query().Get("since")
	if !q.URL.Query().Has("since") {
		return time.Time{}, nil
	}
	t, err := report.Since(text, now)
	if err != nil || t.Year() < 0 || t.Year() > 9999 {
		return t, badRequest("give a date, a time as 2026-11-01T15:04:05Z, or a span such as 24h or 7d",
			"parameter %q is %.60q", "since", text)
	}
	return t, nil
}

// Limits of pages.
const (
	defaultPage = 50
	maxPage     = 500
)

// page is the part of a list that a request wants.
type page struct {
	limit int
	// after is the position or the key of the last item of the page before.
	after string
}

// cursor is what an opaque cursor holds. Of names the list, so that a cursor of another
// list is refused.
type cursor struct {
	Of    string `json:"o"`
	After string `json:"a"`
}

// page returns the page that a request wants of a list.
func (q *request) page(of string) (p page, err error) {
	limit, err := q.integer(limitParam, defaultPage)
	if err != nil {
		return p, err
	}
	p.limit = int(limit)
	text := q.URL.Query().Get("cursor")
	if text == "" {
		return p, nil
	}
	var c cursor
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &c) != nil || c.Of != of || c.After == "" {
		return p, badCursor()
	}
	p.after = c.After
	return p, nil
}

// number returns the position in a cursor, fallback if there is none.
func (p *page) number(fallback int64) (int64, error) {
	if p.after == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(p.after, 10, 64)
	if err != nil || n < 0 {
		return 0, badCursor()
	}
	return n, nil
}

func badCursor() error {
	return badRequest(`give the "next" of the page before, or leave it out`,
		"parameter %q is not a cursor of this list", "cursor")
}

// next returns the cursor after an item.
func next(of, after string) string {
	raw, _ := json.Marshal(cursor{of, after})
	return base64.RawURLEncoding.EncodeToString(raw)
}

// list is a page of a list.
type list[T any] struct {
	Items []T `json:"items"`
	// Next is the cursor of the next page; absent on the last one.
	Next string `json:"next,omitempty"`
	// Total is how many items the list has, as far as the parameters choose them.
	Total int64 `json:"total"`
}

// short returns a text that is quoted in an error.
func short(text string) string { return strconv.Quote(clip.To(text, 60)) }
