package main

import (
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/serve"
)

// replyTimeout is proxy.Options.ReplyTimeout: the default. Tests wait longer.
var replyTimeout time.Duration

// healthWait is how long the history may take to answer a health check.
var healthWait = time.Second

// leftWait is how long calls may continue after the program of a run has
// ended: processes that it left behind make them.
var leftWait = 2 * time.Second

// outputWait is how long the last log lines and events may take to be written
// when the server ends, even if nobody reads them.
var outputWait = 2 * time.Second

// The times of a server that tests make shorter: the defaults.
var reopenEvery, watchEvery, fillEvery, fillSettle time.Duration

// briefWait is call.Waits.Brief: the default. Tests on a busy machine wait longer for the reply
// that a request continues.
var briefWait time.Duration

// serverWaits returns the times of a server.
func serverWaits() serve.Waits {
	return serve.Waits{
		Reply: replyTimeout, Health: healthWait, Output: outputWait, Reopen: reopenEvery, Settings: watchEvery,
		Fill: fillEvery, Settle: fillSettle, Calls: call.Waits{Brief: briefWait},
	}
}
