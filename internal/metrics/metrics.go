// Package metrics counts what a running proxy does, for Prometheus.
//
// It receives the engine's events and stages and reads gauges when it is scraped. Event
// and Stage are safe for concurrent use and wait for nothing. Labels have few values:
// models are those of the model table, any other name is "other"; no label names a tenant,
// a conversation or a call, and no metric contains text of a call.
package metrics

import (
	"net/http"
	"runtime"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/token"
)

// Metrics are the metrics of one process.
type Metrics struct {
	registry *prometheus.Registry
	models   atomic.Pointer[token.Models]

	calls, before, after, provider, cost *prometheus.CounterVec
	cuts, condensations, failOpen        *prometheus.CounterVec
	changes, overflows                   *prometheus.CounterVec
	condensationCost, recalls, recalled  prometheus.Counter
	resizes, ignored                     prometheus.Counter
	stages                               map[string]prometheus.Observer
	calibration                          prometheus.Histogram
	quality                              []qualityCounter
	readable                             prometheus.Counter
	unread                               *prometheus.CounterVec
}

// other is the label of everything that is not in a list.
const other = "other"

// New returns metrics that label calls with the models of a table; see SetModels.
func New(version string, models *token.Models) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.SetModels(models)
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	info := m.gauges("oriel_build_info", "Always 1; the labels have the version of Oriel and of Go.", "version",
		"go_version")
	info.WithLabelValues(version, runtime.Version()).Set(1)

	m.calls = m.counters("oriel_calls_total",
		"Recorded calls by model and result: ok, failed, or left if the client did not wait for the end.", "model",
		"result")
	m.before = m.counters("oriel_prompt_tokens_before_total",
		"Tokens of the requests of recorded calls as they came, as counted here.", "model")
	m.after = m.counters("oriel_prompt_tokens_after_total",
		"Tokens of the requests of recorded calls as they were sent, as counted here.", "model")
	m.provider = m.counters("oriel_provider_tokens_total",
		"Tokens as providers reported them: input (not from the cache), cache_read, cache_write, output.", "model",
		"kind")
	m.cost = m.counters("oriel_cost_dollars_total",
		"US dollars for the reported tokens of recorded calls whose model has a price.", "model")
	m.cuts = m.counters("oriel_cuts_total",
		"Cuts of a window by the strongest action: trim, mask, evict, digest or condense.", "action")
	m.condensations = m.counters("oriel_condensations_total",
		"Summaries that a model was asked for, by result: ok or failed.", "result")
	m.condensationCost = m.counter("oriel_condensation_dollars_total", "US dollars for summaries.")
	m.recalls = m.counter("oriel_recalls_total",
		"Calls into which something that had left the window was brought back.")
	m.recalled = m.counter("oriel_recalled_tokens_total", "Tokens that were brought back into calls.")
	m.overflows = m.counters("oriel_overflows_total", "Requests that a provider refused as too large.", "model")
	m.resizes = m.counter("oriel_resizes_total", "Changes of the adaptive size of a window.")
	m.changes = m.counters("oriel_changes_total",
		"Pins, undos and releases of people that a call applied, by kind and result: ok, or no_room.", "kind", "result")
	m.failOpen = m.counters("oriel_fail_open_total",
		"Failures of a part of Oriel after which the call continued, by the part that failed.", "reason")
	m.ignored = m.counter("oriel_ignored_headers_total",
		"Calls that named an unknown profile or an invalid budget, which was ignored.")
	m.calibration = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "oriel_calibration_error_ratio",
		Help:    "Relative error of the token count of a call: the difference between the count here and the provider's, divided by the provider's.",
		Buckets: []float64{.005, .01, .02, .03, .05, .1, .2, .5, 1},
	})
	m.registry.MustRegister(m.calibration)
	m.registerStages()
	m.registerQuality()
	m.registerCache()
	m.zero()
	return m
}

// registerStages registers the latency of the engine's own work.
func (m *Metrics) registerStages() {
	stages := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "oriel_stage_seconds",
		Help:    "Duration of Oriel's own work on a call by stage. Clients wait for begin (which contains read, find and plan; plan contains recall) and again; reply and store run beside the answer.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"stage"})
	m.registry.MustRegister(stages)
	m.stages = map[string]prometheus.Observer{}
	for _, name := range []string{call.StageBegin, call.StageRead, call.StageFind, call.StagePlan, call.StageRecall,
		call.StageAgain, call.StageReply, call.StageStore} {
		m.stages[name] = stages.WithLabelValues(name)
	}
}

// zero creates the series whose labels are known, so that the first increase can be seen.
func (m *Metrics) zero() {
	for _, action := range actions {
		m.cuts.WithLabelValues(action)
	}
	for _, reason := range reasons {
		m.failOpen.WithLabelValues(reason)
	}
	for _, result := range []string{"ok", "failed"} {
		m.condensations.WithLabelValues(result)
	}
}

var (
	actions = []string{"trim", "mask", "evict", "digest", "condense"}
	reasons = []string{event.OpenFind, event.OpenNotes, event.OpenPlan, event.OpenRecall, event.OpenCount,
		event.OpenReply, event.OpenStore, event.OpenLearnt}
)

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

// SetModels changes the table of models for calls that end from now on.
func (m *Metrics) SetModels(models *token.Models) {
	if models == nil {
		models = token.Builtin()
	}
	m.models.Store(models)
}

// Models returns the table of models in use.
func (m *Metrics) Models() *token.Models { return m.models.Load() }

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Stage observes the duration of a stage.
func (m *Metrics) Stage(s call.Stage) {
	if o := m.stages[s.Name]; o != nil {
		o.Observe(s.Took.Seconds())
	}
}

// Event counts an event.
func (m *Metrics) Event(e oriel.Event) {
	switch e.Kind {
	case oriel.EventCall:
		m.call(&e)
	case oriel.EventCut:
		m.cuts.WithLabelValues(known(actions, e.Action)).Inc()
	case oriel.EventCondensation:
		m.condensations.WithLabelValues(resultOf(&e, "failed")).Inc()
		m.condensationCost.Add(e.Cost)
	case oriel.EventRecall:
		m.recalls.Inc()
		m.recalled.Add(float64(e.Recalled))
	case oriel.EventOverflow:
		m.overflows.WithLabelValues(m.label(m.models.Load().Lookup(e.Model))).Inc()
	case oriel.EventResize:
		m.resizes.Inc()
	case oriel.EventPin, oriel.EventUndo, oriel.EventRelease:
		m.changes.WithLabelValues(e.Kind, resultOf(&e, "no_room")).Inc()
	case oriel.EventOpen:
		m.failOpen.WithLabelValues(known(reasons, e.Reason)).Inc()
	case oriel.EventProfile, oriel.EventBudget:
		m.ignored.Inc()
	}
}

// call counts a recorded call.
func (m *Metrics) call(e *oriel.Event) {
	model := m.models.Load().Lookup(e.Model)
	label := m.label(model)
	result := "ok"
	switch outcome := e.Outcome; {
	case outcome.Failed():
		result = "failed"
	case outcome == event.OutcomeLeft:
		result = "left"
	}
	m.calls.WithLabelValues(label, result).Inc()
	m.before.WithLabelValues(label).Add(float64(e.TokensBefore))
	m.after.WithLabelValues(label).Add(float64(e.TokensAfter))
	if e.Usage == nil {
		return
	}
	u := usage.OfProvider(e.Usage)
	for _, part := range [...]struct {
		kind   string
		tokens int
	}{{"input", u.Input}, {"cache_read", u.CacheRead}, {"cache_write", u.CacheWrite + u.CacheWrite1h},
		{"output", u.Output}} {
		if part.tokens > 0 {
			m.provider.WithLabelValues(label, part.kind).Add(float64(part.tokens))
		}
	}
	if model.Known && model.Prices.Known() {
		m.cost.WithLabelValues(label).Add(model.Prices.Cost(*u))
	}
	if result == "ok" && e.Reported > 0 && e.TokensAfter > 0 {
		m.calibration.Observe(abs(float64(e.TokensAfter-e.Reported)) / float64(e.Reported))
	}
}

// label returns the label of a model: its name in the table, or other.
func (m *Metrics) label(model token.Model) string {
	if !model.Known {
		return other
	}
	return model.ID
}

// resultOf returns "ok" or the word for an event with an error.
func resultOf(e *oriel.Event, failed string) string {
	if e.Error != "" {
		return failed
	}
	return "ok"
}

// known returns a value if it is in a list, else other.
func known(list []string, value string) string {
	for _, v := range list {
		if v == value {
			return v
		}
	}
	return other
}

func abs(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}
