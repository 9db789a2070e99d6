package serve

import (
	"fmt"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
)

// openEvents returns the function that receives events.
func (g *Gateway) openEvents(o *Options) (func(oriel.Event), error) {
	meter, stop := startQuality(g.history, g.metrics)
	g.onClose(stop)
	cache, stop := startMisses(g.history, g.metrics)
	g.onClose(stop)
	receivers := []func(oriel.Event){g.hub.Publish, g.metrics.Event, meter.event, cache.event}
	if o.OnEvent != nil {
		receivers = append(receivers, o.OnEvent)
	}
	if g.tracer != nil {
		receivers = append(receivers, g.tracer.Event)
	}
	if o.Events != "" {
		file, err := openEventLog(o.Events, 0)
		if err != nil {
			return nil, err
		}
		g.events = file
		g.onClose(func() {
			if err := file.Close(o.Waits.Output); err != nil {
				o.Proxy.Log.Error("events were lost", "error", err)
			}
		})
		receivers = append(receivers, file.Write)
	}
	return func(e oriel.Event) {
		for _, receive := range receivers {
			receive(e)
		}
	}, nil
}

// health returns what the proxy does not know itself.
func (g *Gateway) health(o *Options) (h proxy.Health) {
	if o.LogDropped != nil {
		h.DroppedLogLines = o.LogDropped()
	}
	if o.SettingsHeld != nil {
		h.SettingsHeld = o.SettingsHeld()
	}
	spool := call.Of(g.Engine).Spool()
	h.CallsLost = spool.Lost
	if n := spool.Newer; n > 0 {
		h.CallsHeld = fmt.Sprintf(
			"%d calls wait for the newer version of Oriel that put them into the spool: start it with the same folder",
			n)
	}
	if g.events != nil {
		h.DroppedEvents = g.events.Dropped()
	}
	return h
}
