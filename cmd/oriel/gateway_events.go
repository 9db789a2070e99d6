package main

import (
	"fmt"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
)

// openEvents returns the function that receives events.
func (g *gateway) openEvents(o *gatewayOptions) (func(oriel.Event), error) {
	meter, stop := startQuality(g.history, g.metrics)
	g.onClose(stop)
	receivers := []func(oriel.Event){g.hub.Publish, g.metrics.Event, meter.event}
	if o.onEvent != nil {
		receivers = append(receivers, o.onEvent)
	}
	if g.tracer != nil {
		receivers = append(receivers, g.tracer.Event)
	}
	if o.events != "" {
		file, err := openEventLog(o.events, 0)
		if err != nil {
			return nil, err
		}
		g.events = file
		g.onClose(func() {
			if err := file.Close(o.waits.output); err != nil {
				o.proxy.Log.Error("events were lost", "error", err)
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
func (g *gateway) health(o *gatewayOptions) (h proxy.Health) {
	if o.logDropped != nil {
		h.DroppedLogLines = o.logDropped()
	}
	if o.settingsHeld != nil {
		h.SettingsHeld = o.settingsHeld()
	}
	spool := call.Of(g.engine).Spool()
	h.CallsLost = spool.Lost
	if n := spool.Newer; n > 0 {
		h.CallsHeld = fmt.Sprintf("%d calls wait for the newer version of Oriel that put them into the spool: start it with the same folder", n)
	}
	if g.events != nil {
		h.DroppedEvents = g.events.Dropped()
	}
	return h
}
