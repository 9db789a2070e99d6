package main

import (
	"os"

	"github.com/oriel-context/oriel/internal/metrics"
	"github.com/oriel-context/oriel/proxy"
)

// watch has the metrics read the state of the gateway at every scrape.
func (g *gateway) watch(o *gatewayOptions) {
	g.metrics.Watch(metrics.Sources{
		Requests:   g.server.Counters,
		Records:    g.engine.CallCounters,
		Health:     func() proxy.Health { return g.health(o) },
		Queue:      g.engine.CallBacklog,
		StoreBytes: func() int64 { return fileBytes(g.history.path) },
		StoreError: g.engine.CallError,
	})
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
