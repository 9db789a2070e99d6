package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/oriel-context/oriel"
)

// Recorder sees the calls. It must be safe for concurrent use. The proxy recovers from
// its panics and abandons a method that takes longer than Options.BeginTimeout or
// RecordTimeout; the call continues.
type Recorder interface {
	// Begin is called before a call goes upstream. ctx ends when Begin's time is up and
	// when Begin returns. If Begin returns nil, the call is not recorded.
	Begin(ctx context.Context, c *oriel.Request) Recording
}

// Watcher is a Recorder that is also informed of calls that pass through unseen without a
// request to do so.
type Watcher interface {
	Recorder
	// Unseen is called with the call's id in the log and the reason. It must return
	// quickly.
	Unseen(id, reason string)
}

// Recording follows one call. Its methods are called by one goroutine at a time, in this
// order. It runs beside the relaying: the client gets a part of the body before Write
// does, and may send its next call while End runs.
type Recording interface {
	// Response is called when the answer begins. h is read-only. It is not called if
	// there is no answer.
	Response(status int, h http.Header)
	// Header adds X-Oriel-* headers to an answer before it is sent, including this
	// package's own answers. Other names are ignored.
	Header(h http.Header)
	// Write receives bytes of the body as relayed, still encoded. p is valid only during
	// the call.
	Write(p []byte)
	// End is always called once: with nil after a complete body, or with the reason: the
	// client left, the provider was unreachable or broke off, or the recorder failed
	// (ErrRecorder).
	End(err error)
}

// Sender is a Recording that may change what is sent.
type Sender interface {
	Recording
	// Body returns the body to send upstream, or nil for the client's own. It is called
	// once, after Begin.
	Body() []byte
	// Again reports whether Refused may return another body. If so, the client gets
	// nothing of a stream until it is clear that it does not begin with an error.
	Again() bool
	// Refused is called before the client sees a refusal (400, 413, 422, or a 200 that is
	// only an error or a stream that begins with one). A non-nil body is sent in its
	// place, at most twice per call.
	Refused(status int, body []byte) []byte
}

// ErrRecorder ends a recording whose method panicked or took too long.
var ErrRecorder = errors.New("the recorder failed")

// guard runs one Recording in its own goroutine, one job after another. The request's
// goroutine waits for a job only if it needs the outcome or has the next job, and never
// longer than the limit. After that it abandons the recording, which ends by itself when
// its method returns.
type guard struct {
	s  *Server
	id string
	// begin is the limit for Begin and Refused, limit that for the others.
	begin, limit time.Duration
	timer        *time.Timer

	jobs chan job      // capacity for a job and the end
	done chan struct{} // one token per finished job, except the end
	// busy is set while a job runs; left once the recording was abandoned or has ended.
	// Both belong to the request's goroutine.
	busy, left bool

	// These belong to the guard's goroutine. The request's goroutine may read them once
	// it has the token of the last job.
	recording Recording
	passed    string // why the recorder could not see the call
	failed    bool

	// behind is set before jobs is closed if the recording was abandoned.
	behind bool
}

// maxBehind limits the abandoned recordings that still run. Each holds a body in memory
// and takes time from others; at the limit, calls continue without a recording at once.
const maxBehind = 32

// job is one call of a Recording's methods.
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

// begin informs the recorder of a call whose body may still be encoded. The guard is nil
// if the call is not recorded: passed is the reason, and failed reports that the recorder
// failed. m is the memory that holds the body.
func (s *Server) begin(c *oriel.Request, m *Memory) (g *guard, passed string, failed bool) {
	if s.behind.Load() >= maxBehind {
		s.counters.recorderSlow.Add(1)
		s.log.Error("too many recordings are left behind; the call goes on without one", "id", c.ID, "most", maxBehind)
		return nil, "", true
	}
	// Not the request's context: a client that leaves must not interrupt a recorder.
	r := s.routing.Load()
	ctx, cancel := context.WithTimeout(context.Background(), r.beginTimeout)
	g = &guard{s: s, id: c.ID, begin: r.beginTimeout, limit: r.recordTimeout, jobs: make(chan job, 2), done: make(chan struct{}, 1), busy: true}
	s.active.add()
	m.Hold()
	go g.run(ctx, cancel, c, m)
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
	if g.recording == nil {
		g.left = true
		close(g.jobs)
		return nil, g.passed, g.failed
	}
	return g, "", false
}

// run is the goroutine of the guard.
func (g *guard) run(ctx context.Context, cancel context.CancelFunc, c *oriel.Request, m *Memory) {
	defer g.s.active.done()
	defer m.LetGo()
	defer cancel()
	g.try("Begin", func() {
		if g.passed = m.prepare(c, g.s.bodyLimit); g.passed == "" {
			g.recording = g.s.recorder.Begin(ctx, c)
		}
	})
	g.done <- struct{}{}
	cancel() // after the token: a waiter takes the end of ctx for a timeout
	ended := false
	for j := range g.jobs {
		if j.kind == jobEnd {
			if g.failed && j.err == nil {
				j.err = ErrRecorder
			}
			if j.out != nil {
				buffers.Put(j.out)
			}
			g.end(j.err)
			ended = true
			continue
		}
		if !g.failed {
			g.try(j.kind.String(), func() { j.run(g.recording) })
		}
		g.done <- struct{}{}
	}
	if !ended {
		g.end(ErrRecorder)
	}
	if g.behind {
		g.s.behind.Add(-1)
	}
}

func (g *guard) end(err error) {
	if g.recording != nil {
		g.try("End", func() { g.recording.End(err) })
	}
}

func (j *job) run(r Recording) {
	switch j.kind {
	case jobRefused:
		*j.again = r.(Sender).Refused(j.status, j.p)
	case jobAnswer:
		r.Response(j.status, j.header)
		r.Header(j.own)
	case jobHeader:
		r.Header(j.own)
	case jobWrite:
		r.Write(j.p)
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
			g.s.counters.recorderPanics.Add(1)
			g.s.log.Error("the recorder panicked; the call goes on without it", "id", g.id, "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	do()
}

// send returns the body to send upstream, or nil for the client's own.
func (g *guard) send() (body []byte) {
	if s, ok := g.recording.(Sender); ok {
		g.try("Body", func() { body = s.Body() })
	}
	return body
}

// again reports whether the recording may have another body for a refused call.
func (g *guard) again() (again bool) {
	if s, ok := g.recording.(Sender); ok && !g.left && !g.failed {
		g.try("Again", func() { again = s.Again() })
	}
	return again
}

// refused returns another body for a refused call, or nil.
func (g *guard) refused(status int, answer []byte) []byte {
	if _, ok := g.recording.(Sender); !ok || g.left || g.failed {
		return nil
	}
	again := new([]byte) // an abandoned recording may still write to it
	if !g.give(job{kind: jobRefused, status: status, p: answer, again: again}) || !g.wait(g.begin) || g.failed {
		return nil
	}
	return *again
}

// header lets the recording add its headers to h, after informing it of the answer if
// there is one. It returns false if the recording has failed or was abandoned.
func (g *guard) header(h http.Header, status int, answer http.Header) bool {
	// A separate map: an abandoned recording may still write to it.
	own := http.Header{}
	j := job{kind: jobHeader, own: own}
	if answer != nil {
		j = job{kind: jobAnswer, own: own, status: status, header: answer}
	}
	if !g.give(j) || !g.wait(g.limit) || g.failed {
		return false
	}
	for k, v := range own {
		if strings.HasPrefix(k, ownPrefix) {
			h[k] = v
		}
	}
	return true
}

// write hands over bytes of the body. If it returns true, p belongs to the recording
// until the next write or finish, and earlier bytes are free. If it returns false, an
// abandoned recording may still read earlier bytes, and p is free.
func (g *guard) write(p []byte) bool { return g.give(job{kind: jobWrite, p: p}) }

// finish ends the recording without waiting. out is the buffer handed over last, if any;
// it returns to its pool when the recording has read it.
func (g *guard) finish(err error, out *buffer) {
	if g.left {
		return
	}
	g.left = true
	g.jobs <- job{kind: jobEnd, err: err, out: out}
	close(g.jobs)
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

// leave abandons the recording.
func (g *guard) leave(method string, limit time.Duration) {
	g.left, g.behind = true, true
	g.s.behind.Add(1)
	close(g.jobs)
	g.s.counters.recorderSlow.Add(1)
	g.s.log.Error("the recorder is too slow; the call goes on without it", "id", g.id, "method", method, "limit", limit)
}
