package serve

import (
	"context"
	"os"
	"strings"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/metrics"
	"github.com/oriel-context/oriel/internal/metrics/tracing"
	"github.com/oriel-context/oriel/internal/proxy"
)

// watch has the metrics read the state of the gateway at every scrape.
func (g *Gateway) watch(o *Options) {
	calls := call.Of(g.Engine)
	s := metrics.Sources{
		Requests:   g.Server.Counters,
		Records:    calls.Counters,
		Health:     func() proxy.Health { return g.health(o) },
		Queue:      calls.Backlog,
		StoreError: calls.Err,
		Spool: func() (int, int64, int64) {
			s := calls.Spool()
			return s.Calls, s.Bytes, s.Lost
		},
	}
	if !strings.Contains(g.history.path, "://") { // a server of its own has its own metrics
		s.StoreBytes = func() int64 { return fileBytes(g.history.path) }
	}
	g.metrics.Watch(s)
}

// fileBytes returns the size of a database with its log.
func fileBytes(path string) (size int64) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(path + suffix); err == nil {
			size += info.Size()
		}
	}
	return size
}

// openTracer has calls traced if the standard variables of OpenTelemetry ask for it. They
// may be meant for another program, so that a mistake in them is reported and no more.
func (g *Gateway) openTracer(o *Options) {
	tracer, err := tracing.FromEnv(o.Proxy.Version, o.Proxy.Log)
	if err != nil {
		o.Proxy.Log.Warn("calls are not traced", "error", err)
	}
	if tracer == nil {
		return
	}
	g.tracer, o.Proxy.Tracer = tracer, tracer
	g.onClose(func() { // after the engine, whose last calls have spans
		ctx, cancel := context.WithTimeout(context.Background(), o.Waits.Output)
		defer cancel()
		if err := tracer.Shutdown(ctx); err != nil {
			o.Proxy.Log.Warn("the last spans are lost", "error", err)
		}
	})
}

// stages returns the function that receives the stages of calls.
func (g *Gateway) stages() func(call.Stage) {
	if g.tracer == nil {
		return g.metrics.Stage
	}
	return func(s call.Stage) {
		g.metrics.Stage(s)
		g.tracer.Stage(s)
	}
}
