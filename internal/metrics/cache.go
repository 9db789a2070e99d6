package metrics

import (
	"github.com/oriel-context/oriel/internal/report/misses"
)

// registerCache registers the counters of what providers read from their caches.
func (m *Metrics) registerCache() {
	m.readable = m.counter("oriel_cache_readable_tokens_total",
		"Prompt tokens that providers could have read from their caches, with those that they read.")
	m.unread = m.counters("oriel_cache_unread_tokens_total",
		"Prompt tokens that providers could have read from their caches and did not, by reason: pause, client, cut, model, minimum or provider.", "reason")
	for _, r := range misses.Reasons {
		m.unread.WithLabelValues(string(r))
	}
}

// Cache counts what a call could have read from its provider's cache.
func (m *Metrics) Cache(c *misses.Call) {
	m.readable.Add(float64(c.Could))
	if c.Miss != nil {
		m.unread.WithLabelValues(string(c.Miss.Reason)).Add(float64(c.Miss.Tokens))
	}
}
