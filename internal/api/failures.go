package api

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/clip"
)

// Unread counts requests of a client that the server did not read.
type Unread struct {
	// The first word of the header User-Agent; empty if there is none.
	Client string `json:"client"`
	Path   string `json:"path"`
	// Why it was not read.
	Why   string    `json:"why"`
	Count int64     `json:"count"`
	Last  time.Time `json:"last"`
}

// failure counts calls that continued without a part of Oriel, for one reason.
type failure struct {
	// The kind of event.
	Kind   string    `json:"kind"`
	Reason string    `json:"reason"`
	Count  int64     `json:"count"`
	Last   time.Time `json:"last"`
}

// failures are those of a tenant since the start.
type failures struct {
	total  int64
	reason map[string]*failure
}

// maxReasons is how many reasons are told apart; further ones count as other.
const maxReasons = 32

// failKinds are the kinds of events that mean that a call went on without a part of Oriel.
var failKinds = []string{oriel.EventOpen, oriel.EventUnknown, oriel.EventUnseen, oriel.EventUnkept}

// count counts an event. The caller holds mu.
func (h *Hub) count(tenant string, e *oriel.Event) {
	if !slices.Contains(failKinds, e.Kind) {
		return
	}
	f := h.counts[tenant]
	if f == nil {
		f = &failures{reason: map[string]*failure{}}
		h.counts[tenant] = f
	}
	f.total++
	reason := reasonOf(e.Error)
	if e.Reason != "" {
		reason = e.Reason + ": " + reason
	}
	key := e.Kind + "\x00" + reason
	if f.reason[key] == nil && len(f.reason) >= maxReasons {
		key, reason = "", "other reasons"
	}
	if f.reason[key] == nil {
		f.reason[key] = &failure{Kind: e.Kind, Reason: reason}
	}
	f.reason[key].Count++
	f.reason[key].Last = e.Time.UTC()
}

// reasonOf returns an error without what differs from call to call: numbers and quoted
// names.
func reasonOf(text string) string {
	var b strings.Builder
	quoted, digits := false, false
	for _, r := range clip.To(text, clip.Line) {
		switch {
		case r == '"':
			quoted = !quoted
			if quoted {
				b.WriteString(`"…"`)
			}
		case quoted:
		case '0' <= r && r <= '9':
			if !digits {
				b.WriteByte('N')
			}
			digits = true
			continue
		default:
			b.WriteRune(r)
		}
		digits = false
	}
	return b.String()
}

// failed returns the failures of a tenant, the most frequent first.
func (h *Hub) failed(tenant string) (total int64, out []failure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out = []failure{}
	f := h.counts[tenant]
	if f == nil {
		return 0, out
	}
	for _, r := range f.reason {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return f.total, out
}
