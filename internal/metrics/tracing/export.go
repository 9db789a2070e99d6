package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporter sends spans over OTLP/HTTP in protobuf. See docs/reference/decisions/otlp.md for why it is
// not OpenTelemetry's own.
type exporter struct {
	client  *http.Client
	url     string
	header  http.Header // may contain keys: it is not logged
	timeout time.Duration
	gzip    bool
	pause   time.Duration // before the second attempt; doubled for the third
	log     *slog.Logger

	lost   atomic.Int64 // spans since the last line
	logged atomic.Int64 // when that was, in seconds
}

var _ sdktrace.SpanExporter = (*exporter)(nil)

// attempts is how often a batch is sent to a collector that asks for it.
const attempts = 3

// ExportSpans implements sdktrace.SpanExporter. It reports failures itself, at most once a
// minute.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if err := e.send(ctx, encode(spans)); err != nil {
		e.report(len(spans), err)
	}
	return nil
}

// report logs lost spans.
func (e *exporter) report(spans int, err error) {
	lost := e.lost.Add(int64(spans))
	now, last := time.Now().Unix(), e.logged.Load()
	if now-last < 60 || !e.logged.CompareAndSwap(last, now) {
		return
	}
	e.lost.Add(-lost)
	e.log.Warn("spans could not be exported and are dropped; calls go on", "spans", lost, "error", err)
}

// send posts a batch, and again if the collector asks for it.
func (e *exporter) send(ctx context.Context, body []byte) error {
	if e.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(body) // to memory
		w.Close()
		body = packed.Bytes()
	}
	pause := e.pause
	for attempt := 1; ; attempt++ {
		again, err := e.post(ctx, body)
		if err == nil || !again || attempt == attempts {
			return err
		}
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return err
		}
	}
}

// post sends a batch once. again reports that the collector may take it later.
func (e *exporter) post(ctx context.Context, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header = e.header.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "oriel")
	if e.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	res, err := e.client.Do(r)
	if err != nil {
		return ctx.Err() == nil, err
	}
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	switch res.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("the collector answered %s", res.Status)
}

// Shutdown implements sdktrace.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}
