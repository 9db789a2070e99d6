//go:build !unix

package kit

import "time"

var start = time.Now()

// ProcessorTime returns the elapsed time, because the system does not report
// processor time.
func ProcessorTime() time.Duration { return time.Since(start) }
