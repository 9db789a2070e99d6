//go:build !unix

package view

import "time"

var start = time.Now()

// processorTime returns the elapsed time, because the system does not report
// processor time.
func processorTime() time.Duration { return time.Since(start) }
