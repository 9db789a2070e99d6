package forward

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/limit"
)

// ErrEngine ends a call for which a method of the engine panicked or took too long.
var ErrEngine = errors.New("the engine failed")

// Fault is a failure of the engine: a panic, a method that took too long, or too many of those
// at a time. The request continues without the engine.
type Fault struct {
	ID, Tenant string
	// Method names the method. It is empty if the engine was not asked.
	Method string
	// Limit is the time that the method had; 0 if it panicked.
	Limit time.Duration
	// Panic is the value of a panic, and Stack the goroutine's.
	Panic any
	Stack string
}

// Error describes what happened, in one line.
func (f *Fault) Error() string {
	switch {
	case f.Panic != nil:
		return fmt.Sprintf("the engine panicked in %s: %v", f.Method, f.Panic)
	case f.Method == "":
		return fmt.Sprintf("the engine is stuck with %d calls", MaxBehind)
	}
	return fmt.Sprintf("the engine took more than %v for %s", f.Limit, f.Method)
}

// guard runs the methods of one call in its own goroutine, one after another. The
// request's goroutine waits for a method only if it needs the outcome or has the next
// job, and never longer than the limit. After that it abandons the call, which ends by
// itself when the method returns.
type guard struct {
	x *Exchange
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
	call   Call
	model  string // that the request names
	passed string // why the engine could not see the call
	failed bool

	// behind is set before jobs is closed if the call was abandoned.
	behind bool
}

// MaxBehind limits the abandoned calls of a Forwarder whose methods still run. Each holds a
// body in memory and takes time from others; at the limit, calls continue without the engine
// at once.
const MaxBehind = 32

// job is one use of a call's methods.
type job struct {
	kind   jobKind
	status int
	header http.Header
	own    http.Header // the argument of Header
	again  *[]byte     // the result of Refused
	p      []byte
	read   []*buffer // those that are free after the end
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

// ask gives the engine a request whose body may still be encoded, by ask in the goroutine of a
// new guard. ask returns the call, or nil if there is none; then the guard is nil, too.
// passed is the reason if the engine could not see the request, and failed reports that the
// engine failed: then ask may still run.
func (x *Exchange) ask(method string, r *call.Request,
	ask func(context.Context, *call.Request) Call) (g *guard, passed string, failed bool) {
	f := x.f
	if f.behind.Load() >= MaxBehind {
		x.fault(&Fault{})
		return nil, "", true
	}
	// A client that leaves must not interrupt the engine.
	begin := f.engine.BeginWait()
	ctx, cancel := context.WithTimeout(limit.With(context.WithoutCancel(x.In.Context()), &x.crew), begin)
	g = &guard{x: x, begin: begin, limit: f.replyWait, jobs: make(chan job, 2), done: make(chan struct{}, 1),
		over: make(chan struct{}), busy: true}
	if g.limit == 0 {
		g.limit = begin
	}
	f.running.Add()
	x.Memory.Hold()
	go g.run(ctx, cancel, method, r, ask)
	select {
	case <-g.done:
	case <-ctx.Done():
		select {
		case <-g.done: // both ended at once
		default:
			g.leave(method, g.begin)
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

// run is the goroutine of the guard. When the call has ended, it does what the engine has left
// for the background.
func (g *guard) run(ctx context.Context, cancel context.CancelFunc, method string, r *call.Request,
	ask func(context.Context, *call.Request) Call) {
	g.work(ctx, cancel, method, r, ask)
	g.x.crew.Run()
}

// work asks the engine and does the jobs that follow.
func (g *guard) work(ctx context.Context, cancel context.CancelFunc, method string, r *call.Request,
	ask func(context.Context, *call.Request) Call) {
	call.ReserveStack()
	defer g.x.f.running.Done()
	defer close(g.over)
	defer g.x.Memory.LetGo()
	defer cancel()
	g.try(method, func() {
		if g.passed = g.x.Memory.prepare(r, g.x.f.bodyLimit); g.passed != "" {
			return
		}
		if c := ask(ctx, r); c != nil {
			g.call = c
			g.model = c.Model()
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
			for _, b := range j.read {
				buffers.Put(b)
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
		g.x.f.behind.Add(-1)
	}
}

func (g *guard) end(err error) {
	if g.call != nil {
		g.x.crew.Keep()
		g.try("End", func() { g.call.End(err) })
	}
}

func (j *job) run(c Call) {
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
			g.x.fault(&Fault{Method: method, Panic: p, Stack: string(debug.Stack())})
		}
	}()
	do()
}

// send returns the body to send upstream, or nil for the client's own.
func (g *guard) send() (body []byte) {
	g.try("Body", func() { body = g.call.Body() })
	return body
}

// beta returns the beta feature that the body needs, or "".
func (g *guard) beta() (beta string) {
	if !g.left && !g.failed {
		g.try("Beta", func() { beta = g.call.Beta() })
	}
	return beta
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

// finish ends the call without waiting, and reports whether that was still to do. rest is what
// was not written of the body. read are buffers that are free when the call has read what was
// written, and rest.
func (g *guard) finish(err error, rest []byte, read []*buffer) bool {
	if g.left {
		return false
	}
	g.left = true
	g.jobs <- job{kind: jobEnd, err: err, p: rest, read: read}
	close(g.jobs)
	return true
}

// await waits for the end of the call after finish, at most limit.
func (g *guard) await(limit time.Duration) {
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
	g.x.f.behind.Add(1)
	close(g.jobs)
	g.x.fault(&Fault{Method: method, Limit: limit})
}
