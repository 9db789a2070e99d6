package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/oriel-context/oriel/internal/report/quality"
)

// qualityCounter counts one of the measures.
type qualityCounter struct {
	of func(*quality.Measures) int
	prometheus.Counter
}

// registerQuality registers the counters of measured calls.
func (m *Metrics) registerQuality() {
	for _, c := range []struct {
		name, help string
		of         func(*quality.Measures) int
	}{
		{"oriel_measured_calls_total", "Calls with something left out whose window was measured, at most one a second.",
			func(q *quality.Measures) int { return q.Calls }},
		{"oriel_needed_total", "Edits and reads of files that were read before, in measured calls.",
			func(q *quality.Measures) int { return q.Needed }},
		{"oriel_needed_missing_total",
			"Those of oriel_needed_total whose file had left the window and was in no other text of it.",
			func(q *quality.Measures) int { return q.Missing - q.Back }},
		{"oriel_repeated_work_total",
			"Files read again and commands run again in measured calls, whose result had left the window.",
			func(q *quality.Measures) int { return q.Again - q.Held }},
		{"oriel_recalled_passages_total", "Passages that were recalled for measured calls.",
			func(q *quality.Measures) int { return q.Passages }},
		{"oriel_recalled_passages_used_total",
			"Those of oriel_recalled_passages_total whose own words are in the reply.",
			func(q *quality.Measures) int { return q.Used }},
		{"oriel_window_bytes_total", "Text in the windows of measured calls.",
			func(q *quality.Measures) int { return q.Text }},
		{"oriel_window_repeated_bytes_total", "Text in these windows that the same window has before, word for word.",
			func(q *quality.Measures) int { return q.Repeated }},
		{"oriel_window_stale_bytes_total",
			"Results in these windows that a later one replaces, or whose file was changed since.",
			func(q *quality.Measures) int { return q.Stale }},
	} {
		m.quality = append(m.quality, qualityCounter{c.of, m.counter(c.name, c.help)})
	}
}

// Quality counts the measures of a call.
func (m *Metrics) Quality(q *quality.Measures) {
	for _, c := range m.quality {
		c.Add(float64(max(0, c.of(q))))
	}
}
