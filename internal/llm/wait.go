package llm

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Waits between attempts.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 8 * time.Second
	// maxRetryAfter is the longest wait that a server may ask for. A call that
	// would wait longer fails and says so.
	maxRetryAfter = time.Minute
)

// backoff returns the wait after the given attempt, counted from 1. It doubles
// each time, and half of it is random, so that many callers do not come back
// at the same moment.
func backoff(try int) time.Duration {
	wait := longestWait
	if shift := try - 1; shift < 8 {
		wait = min(firstWait<<shift, longestWait)
	}
	return wait/2 + rand.N(wait/2+1)
}

// retryAfter returns how long the server asks to wait, or 0. A date is
// relative to the server's own clock if the answer contains it.
func retryAfter(h http.Header) time.Duration {
	if d, ok := parseUnits(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := parseUnits(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(at.Sub(now), 0)
}

// parseUnits parses a number of units, at most a day.
func parseUnits(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(n >= 0) { // nor NaN
		return 0, false
	}
	const day = 24 * time.Hour
	if n*float64(unit) > float64(day) {
		return day, true
	}
	return time.Duration(n * float64(unit)), true
}

// sleep waits, or stops with ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
