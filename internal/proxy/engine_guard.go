package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/call"
)

// ErrEngine ends a call for which a method of the engine panicked or took too long.
var ErrEngine = errors.New("the engine failed")

// guard runs the methods of one call in its own goroutine, one after another. The
// request's goroutine waits for a method only if it needs the outcome or has the next
// job, and never longer than the limit. After that it abandons the call, which ends by
// itself when the method returns.
type guard struct {
	s  *Server
	id string
	// begin is the limit for Begin and Refused, limit that for the others.
	begin, limit time.Duration
	timer        *time.Timer

	jobs chan job      // capacity for a job and the end
	done chan struct{} // one token per finished job, except the end
	over chan struct{} // closed after the end
	// busy is set while a job runs; left once the call was abandoned or has ended.
	// Both belong to the request's goroutine.
	busy, left bool

	// These belong to the guard's goroutine. The request's goroutine may use them once
	// it has the token of the last job, until it hands over the next.
	call   begun
	model  string // that the request names
	passed string // why the engine could not see the call
	failed bool

	// behind is set before jobs is closed if the call was abandoned.
	behind bool
}

// maxBehind limits the abandoned calls whose methods still run. Each holds a body in
// memory and takes time from others; at the limit, calls continue without the engine at
// once.
const maxBehind = 32

// job is one use of a call's methods.
type job struct {
	kind   jobKind
	status int
	header http.Header
	own    http.Header // the argument of Header
	again  *[]byte     // the result of Refused
	p      []byte
	out    *buffer
	err    error
}

type jobKind uint8

const (
	jobAnswer  jobKind = iota // Response and Header
	jobRefused                // Refused
	jobHeader                 // Header alone
	jobWrite
	jobEnd
)

// begin gives the engine a request whose body may still be encoded. The guard is nil if
// the engine does not have the call: passed is the reason, and failed reports that the
// engine failed. m is the memory that holds the body.
func (s *Server) begin(r *call.Request, m *Memory) (g *guard, passed string, failed bool) {
	if s.behind.Load() >= maxBehind {
		s.counters.engineSlow.Add(1)
		s.log.Error("the engine is stuck with too many calls; the call continues without it", "id", r.ID, "most",
			maxBehind)
		return nil, "", true
	}
	// Not the request's context: a client that leaves must not interrupt the engine.
	limit := s.engine.BeginWait()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	g = &guard{s: s, id: r.ID, begin: limit, limit: s.reply, jobs: make(chan job, 2), done: make(chan struct{}, 1),
		over: make(chan struct{}), busy: true}
	s.active.add()
	m.Hold()
	go g.run(ctx, cancel, r, m)
	select {
	case <-g.done:
	case <-ctx.Done():
		select {
		case <-g.done: // both ended at once
		default:
			g.leave("Begin", g.begin)
			return nil, "", true
		}
	}
	g.busy = false
	if g.call == nil {
		g.left = true
		close(g.jobs)
		return nil, g.passed, g.failed
	}
	return g, "", false
}

// run is the goroutine of the guard.
func (g *guard) run(ctx context.Context, cancel context.CancelFunc, r *call.Request, m *Memory) {
	call.ReserveStack()
	defer g.s.active.done()
	defer close(g.over)
	defer m.LetGo()
	defer cancel()
	g.try("Begin", func() {
		if g.passed = m.prepare(r, g.s.bodyLimit); g.passed == "" {
			g.call = g.s.engine.Begin(ctx, r)
			g.model = g.call.Model()
		}
	})
	g.done <- struct{}{}
	cancel() // after the token: a waiter takes the end of ctx for a timeout
	ended := false
	for j := range g.jobs {
		if j.kind == jobEnd {
			if len(j.p) > 0 && g.call != nil && !g.failed {
				g.try(jobWrite.String(), func() { g.call.Write(j.p) })
			}
			if g.failed && j.err == nil {
				j.err = ErrEngine
			}
			if j.out != nil {
				buffers.Put(j.out)
			}
			g.end(j.err)
			ended = true
			continue
		}
		if !g.failed {
			g.try(j.kind.String(), func() { j.run(g.call) })
		}
		g.done <- struct{}{}
	}
	if !ended {
		g.end(ErrEngine)
	}
	if g.behind {
		g.s.behind.Add(-1)
	}
}

func (g *guard) end(err error) {
	if g.call != nil {
		g.try("End", func() { g.call.End(err) })
	}
}

func (j *job) run(c begun) {
	switch j.kind {
	case jobRefused:
		*j.again = c.Refused(j.status, j.p)
	case jobAnswer:
		c.Response(j.status, j.header)
		c.Header(j.own)
	case jobHeader:
		c.Header(j.own)
	case jobWrite:
		c.Write(j.p)
	}
}

func (k jobKind) String() string {
	return [...]string{"Response or Header", "Refused", "Header", "Write", "End"}[k]
}

// try calls do and recovers from its panic.
func (g *guard) try(method string, do func()) {
	defer func() {
		if p := recover(); p != nil {
			g.failed = true
			g.s.counters.enginePanics.Add(1)
			g.s.log.Error("the engine panicked; the call continues without it", "id", g.id, "method", method, "panic",
				fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	do()
}

// send returns the body to send upstream, or nil for the client's own.
func (g *guard) send() (body []byte) {
	g.try("Body", func() { body = g.call.Body() })
	return body
}

// again reports whether the engine may have another body for a refused call.
func (g *guard) again() (again bool) {
	if !g.left && !g.failed {
		g.try("Again", func() { again = g.call.Again() })
	}
	return again
}

// refused returns another body for a refused call, or nil.
func (g *guard) refused(status int, answer []byte) []byte {
	if g.left || g.failed {
		return nil
	}
	again := new([]byte) // an abandoned call may still write to it
	if !g.give(job{kind: jobRefused, status: status, p: answer, again: again}) || !g.wait(g.begin) || g.failed {
		return nil
	}
	return *again
}

// header adds the engine's headers to h, after giving it the answer's status and header
// if there is an answer. It returns false if the engine has failed or the call was
// abandoned.
func (g *guard) header(h http.Header, status int, answer http.Header) bool {
	// A separate map: an abandoned call may still write to it.
	own := http.Header{}
	j := job{kind: jobHeader, own: own}
	if answer != nil {
		j = job{kind: jobAnswer, own: own, status: status, header: answer}
	}
	if !g.runNow(&j) && (!g.give(j) || !g.wait(g.limit)) || g.failed {
		return false
	}
	for k, v := range own {
		if strings.HasPrefix(k, ownPrefix) {
			h[k] = v
		}
	}
	return true
}

// runNow runs a job of Response and Header in the request's goroutine, if they return at
// once, and reports whether it did.
func (g *guard) runNow(j *job) (ready bool) {
	if g.left || g.busy || g.failed {
		return false
	}
	g.try("Ready", func() { ready = g.call.Ready() })
	if ready {
		g.try(j.kind.String(), func() { j.run(g.call) })
	}
	return ready
}

// write hands over bytes of the body. If it returns true, p belongs to the call until the
// next write or finish, and earlier bytes are free. If it returns false, an abandoned
// call may still read earlier bytes, and p is free.
func (g *guard) write(p []byte) bool { return g.give(job{kind: jobWrite, p: p}) }

// finish ends the call without waiting. rest is what was not written of the body. out is
// the buffer handed over last, if any, or that of rest; it returns to its pool when the call
// has read it.
func (g *guard) finish(err error, rest []byte, out *buffer) {
	if g.left {
		return
	}
	g.left = true
	g.jobs <- job{kind: jobEnd, err: err, p: rest, out: out}
	close(g.jobs)
}

// settle ends the call and waits for that, at most limit.
func (g *guard) settle(rest []byte, out *buffer, limit time.Duration) {
	if g.left {
		return
	}
	g.finish(nil, rest, out)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-g.over:
	case <-timer.C:
	}
}

// give waits for the previous job and hands over j.
func (g *guard) give(j job) bool {
	if g.left || !g.wait(g.limit) {
		return false
	}
	g.jobs <- j
	g.busy = true
	return true
}

// wait waits for the running job, but not longer than limit.
func (g *guard) wait(limit time.Duration) bool {
	if !g.busy {
		return true
	}
	select {
	case <-g.done:
		g.busy = false
		return true
	default:
	}
	if g.timer == nil {
		g.timer = time.NewTimer(limit)
	} else {
		g.timer.Reset(limit)
	}
	defer g.timer.Stop()
	select {
	case <-g.done:
		g.busy = false
		return true
	case <-g.timer.C:
		g.leave("Refused, Response, Header or Write", limit)
		return false
	}
}

// leave abandons the call.
func (g *guard) leave(method string, limit time.Duration) {
	g.left, g.behind = true, true
	g.s.behind.Add(1)
	close(g.jobs)
	g.s.counters.engineSlow.Add(1)
	g.s.log.Error("the engine is too slow; the call continues without it", "id", g.id, "method", method, "limit", limit)
}
