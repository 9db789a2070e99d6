//go:build !unix

package view

import "time"

var start = time.Now()

// processorTime is the clock's where the system does not tell.
func processorTime() time.Duration { return time.Since(start) }
