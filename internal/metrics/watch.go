package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
)

// Sources are read at every scrape. Each must return quickly; a nil one is left out.
type Sources struct {
	// Requests and Records are the counts of the proxy and of the engine.
	Requests func() proxy.Counters
	Records  func() *call.Counters
	// Health has the counts of lost lines.
	Health func() proxy.Health
	// Queue returns the calls that wait to be written, and their bytes.
	Queue func() (calls int, bytes int64)
	// StoreBytes returns the size of the history, StoreError why the last call could not
	// be written.
	StoreBytes func() int64
	StoreError func() error
	// Spool returns the calls that wait on disk for a store, their bytes, and how many were
	// lost.
	Spool func() (calls int, bytes, lost int64)
}

// Watch adds the metrics of the sources. It is called once.
func (m *Metrics) Watch(s Sources) { m.registry.MustRegister(&watcher{s}) }

// watcher collects the metrics of sources.
type watcher struct{ s Sources }

var (
	requests = describe("oriel_requests_total",
		"Requests by kind: call (for a model's reply), passed (anything else that goes to a provider), own (for Oriel's own paths).", "kind")
	responses = describe("oriel_responses_total",
		"Ended requests to providers by outcome: answered, unreachable, broken (a part of the answer came), client_left, refused (by Oriel) or upgraded (to another protocol).", "outcome")
	errored = describe("oriel_provider_errors_total", "Answers of providers with a status of 400 or more.")
	unseen  = describe("oriel_unseen_calls_total",
		"Calls that passed through without being recorded or cut, by reason: bypass (the client asked for it), size, memory or encoding.", "reason")
	failures = describe("oriel_engine_failures_total",
		"Calls, or parts of calls, that continued without the engine, by reason: panic or slow.", "reason")
	buffered = describe("oriel_buffered_bytes", "Memory that bodies of calls hold.")
	records  = describe("oriel_records_total",
		"Calls by what became of their record: written, spooled (it waits, or waited, on disk; it is written later), failed (it could not be stored), unknown (the body could not be read), key_refused (the provider refused the key, so nothing is kept) or unseen.", "outcome")
	unkept = describe("oriel_unkept_answers_total",
		"Answers that were not stored because they are too large or memory was short.")
	dropped = describe("oriel_dropped_lines_total",
		"Lines that nobody read or that could not be written, by kind: log or event.", "kind")
	queued    = describe("oriel_queue_calls", "Calls that wait to be written to the history, or are being written.")
	queuedIn  = describe("oriel_queue_bytes", "Bytes of the calls that wait to be written.")
	storeSize = describe("oriel_store_bytes", "Size of the history on disk.")
	storeUp   = describe("oriel_store_up", "1 if the last call could be written to the history, 0 if not.")
	spooled   = describe("oriel_spool_calls", "Calls that wait in the spool for the history to come back.")
	spooledIn = describe("oriel_spool_bytes", "Size of the spool on disk.")
	lost      = describe("oriel_spool_lost_total", "Calls that neither the history nor the spool accepted.")
	noToken   = describe("oriel_refused_tokens_total",
		"Refused tokens by kind (request, or sign_in at the console) and reason: missing, unknown, expired, revoked, unchecked (the store did not answer), crowded (too many wrong ones from the address) or limit (too many sign-ins with the token).", "kind", "reason")
	limited = describe("oriel_limited_calls_total",
		"Calls of tenants that have reached a limit, by limit: calls (in a minute: the call was refused) or bytes (stored: it was sent and not recorded).", "limit")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (w *watcher) Describe(ch chan<- *prometheus.Desc) {
	describeIf := func(there bool, all ...*prometheus.Desc) {
		if there {
			for _, d := range all {
				ch <- d
			}
		}
	}
	describeIf(w.s.Requests != nil, requests, responses, errored, unseen, failures, buffered, noToken)
	describeIf(w.s.Records != nil, records, unkept)
	describeIf(w.s.Health != nil, dropped)
	describeIf(w.s.Queue != nil, queued, queuedIn)
	describeIf(w.s.StoreBytes != nil, storeSize)
	describeIf(w.s.StoreError != nil, storeUp)
	describeIf(w.s.Spool != nil, spooled, spooledIn, lost)
	describeIf(w.s.Requests != nil || w.s.Records != nil, limited)
}

// Collect implements prometheus.Collector.
func (w *watcher) Collect(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n int64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
	if w.s.Requests != nil {
		c := w.s.Requests()
		count(requests, c.Calls, "call")
		count(requests, c.Passed, "passed")
		count(requests, c.Own, "own")
		count(responses, c.Answered, "answered")
		count(responses, c.Unreachable, "unreachable")
		count(responses, c.Broken, "broken")
		count(responses, c.ClientLeft, "client_left")
		count(responses, c.Refused, "refused")
		count(responses, c.Upgraded, "upgraded")
		count(responses, c.Sockets, "websocket")
		count(errored, c.Errors)
		count(unseen, c.PassedBypass, "bypass")
		count(unseen, c.PassedSize, "size")
		count(unseen, c.PassedMemory, "memory")
		count(unseen, c.PassedEncoding, "encoding")
		count(unseen, c.PassedSigned, "signed")
		count(failures, c.EnginePanics, "panic")
		count(failures, c.EngineSlow, "slow")
		count(limited, c.Limited, "calls")
		gauge(buffered, c.BufferedBytes)
		for reason, n := range c.RefusedTokens {
			count(noToken, n, "request", reason)
		}
		for reason, n := range c.RefusedSignIns {
			count(noToken, n, "sign_in", reason)
		}
	}
	if w.s.Records != nil {
		c := w.s.Records()
		count(records, c.Written.Load(), "written")
		count(records, c.Spooled.Load(), "spooled")
		count(records, c.Failed.Load(), "failed")
		count(records, c.Unknown.Load(), "unknown")
		count(records, c.Refused.Load(), "key_refused")
		count(records, c.Unseen.Load(), "unseen")
		count(unkept, c.Unkept.Load())
		count(limited, c.Limited.Load(), "bytes")
	}
	if w.s.Health != nil {
		h := w.s.Health()
		count(dropped, h.DroppedLogLines, "log")
		count(dropped, h.DroppedEvents, "event")
	}
	pair := func(source func() (int, int64), number, size *prometheus.Desc) {
		if source != nil {
			n, bytes := source()
			gauge(number, int64(n))
			gauge(size, bytes)
		}
	}
	pair(w.s.Queue, queued, queuedIn)
	if w.s.Spool != nil {
		n, bytes, gone := w.s.Spool()
		gauge(spooled, int64(n))
		gauge(spooledIn, bytes)
		count(lost, gone)
	}
	if w.s.StoreBytes != nil {
		gauge(storeSize, w.s.StoreBytes())
	}
	if w.s.StoreError != nil {
		up := int64(1)
		if w.s.StoreError() != nil {
			up = 0
		}
		gauge(storeUp, up)
	}
}
