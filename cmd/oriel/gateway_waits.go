package main

import (
	"cmp"
	"time"
)

// waits are the times of a server; those that are 0 have their defaults.
type waits struct {
	// reply is proxy.Options.ReplyTimeout.
	reply time.Duration
	// health is how long the history may take to answer a health check: 1 s.
	health time.Duration
	// output is how long the last events and spans may take to be written: 2 s.
	output time.Duration
	// reopen is how often a server checks whether its history still exists, or can be
	// opened now: 2 s.
	reopen time.Duration
	// settings is how often the settings files are checked: 1 s.
	settings time.Duration
	// fill and settle are those of recall.Fill.
	fill, settle time.Duration
}

// orDefaults returns the waits with the defaults in place of zeros.
func (w waits) orDefaults() waits {
	w.health = cmp.Or(w.health, time.Second)
	w.output = cmp.Or(w.output, 2*time.Second)
	w.reopen = cmp.Or(w.reopen, 2*time.Second)
	w.settings = cmp.Or(w.settings, time.Second)
	return w
}
