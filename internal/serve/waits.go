package serve

import (
	"cmp"
	"time"

	"github.com/oriel-context/oriel/internal/call"
)

// Waits are the times of a server; those that are 0 have their defaults.
type Waits struct {
	// Reply is proxy.Options.ReplyTimeout.
	Reply time.Duration
	// Health is how long the history may take to answer a health check: 1 s.
	Health time.Duration
	// Output is how long the last events and spans may take to be written: 2 s.
	Output time.Duration
	// Reopen is how often a server checks whether its history still exists, or can be
	// opened now: 2 s.
	Reopen time.Duration
	// Settings is how often the settings files are checked: 1 s.
	Settings time.Duration
	// Fill and settle are those of recall.Fill.
	Fill, Settle time.Duration
	// Calls are those of calls.
	Calls call.Waits
}

// orDefaults returns the waits with the defaults in place of zeros.
func (w Waits) orDefaults() Waits {
	w.Health = cmp.Or(w.Health, time.Second)
	w.Output = cmp.Or(w.Output, 2*time.Second)
	w.Reopen = cmp.Or(w.Reopen, 2*time.Second)
	w.Settings = cmp.Or(w.Settings, time.Second)
	return w
}
