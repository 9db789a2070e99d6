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

// Recorder is told of the calls. It is safe for concurrent use. What it panics is
// caught, what takes longer than Options.BeginTimeout or RecordTimeout is left behind,
// and the call goes on.
type Recorder interface {
	// Begin is told of a call before it goes upstream. ctx ends with the time that
	// Begin has, and when it returns. A nil Recording: the call is not recorded.
	Begin(ctx context.Context, c *oriel.Request) Recording
}

// Watcher is a Recorder that is told of the calls that go through unseen although nobody
// asked for it.
type Watcher interface {
	Recorder
	// Unseen is given the id that the log has, and why the call is not looked at. It
	// must be quick.
	Unseen(id, reason string)
}

// Recording is told of one call, by one goroutine at a time, in the order of the
// methods. It runs beside the relaying: a part of the body is at the client before
// Write has it, and a client may send its next call while End is at work.
type Recording interface {
	// Response is told that the answer begins. h is read-only. It is not called
	// where there is no answer.
	Response(status int, h http.Header)
	// Header adds X-Oriel-* to the answer's header before that goes out, the answers
	// of this package included. Other names are left out.
	Header(h http.Header)
	// Write is told bytes of the body as they were relayed, still encoded. p is
	// valid during the call only.
	Write(p []byte)
	// End is called once, always: with nil when the body came to its end, else with
	// what happened: the client left, the provider could not be reached or died, or
	// the recorder failed (ErrRecorder).
	End(err error)
}

// Sender is a Recording that may send something else than what came.
type Sender interface {
	Recording
	// Send is the body that goes upstream; nil: the client's own. It is called once,
	// after Begin.
	Send() []byte
	// Again reports whether Refused may have another body. Where it does, nothing of
	// a stream goes to the client until it is clear that it does not begin with an
	// error.
	Again() bool
	// Refused is told of a refusal (400, 413, 422, or 200 and nothing but an error, or
	// a stream that begins with one) before the client is. What it returns is sent instead, at most twice
	// in a call; nil: the client gets the refusal.
	Refused(status int, body []byte) []byte
}

// ErrRecorder is why a recording ended before its call did: a method of it panicked or
// took too long.
var ErrRecorder = errors.New("the recorder failed")

// A guard runs one Recording in a goroutine of its own, one job after another. The
// request's goroutine waits for a job only where it needs the outcome or gives the next
// one, and never for longer than the limit: then it leaves the recording behind, which
// ends on its own when it returns.
type guard struct {
	s  *Server
	id string
	// begin is the limit of Begin and Refused, limit that of the others.
	begin, limit time.Duration
	timer        *time.Timer

	jobs chan job      // room for a job and the end
	done chan struct{} // a token for each job done, but for the end
	// busy is set while a job is out; left once the recording was left behind or is
	// ended. Both belong to the request's goroutine.
	busy, left bool

	// These belong to the goroutine of the guard; the request's may read them when
	// it has the token of the last job.
	recording Recording
	passed    string // why the call could not be shown to the recorder
	failed    bool

	// behind is set before jobs is closed, where the recording was left behind.
	behind bool
}

// maxBehind is how many recordings may be at work that were left behind. Each of them
// has a body in memory and takes time from those that are in time: while there are so
// many, calls go on without a recording at once.
const maxBehind = 32

// job is one call of a Recording's methods.
type job struct {
	kind   jobKind
	status int
	header http.Header
	own    http.Header // what Header is given
	again  *[]byte     // what Refused returns
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

// begin tells the recorder of a call whose body may still be encoded. The guard is nil
// where the call is not recorded: passed says why it cannot be, failed that it is the
// recorder's fault. m is the memory that the body is in.
func (s *Server) begin(c *oriel.Request, m *Memory) (g *guard, passed string, failed bool) {
	if s.behind.Load() >= maxBehind {
		s.counters.recorderSlow.Add(1)
		s.log.Error("too many recordings are left behind; the call goes on without one", "id", c.ID, "most", maxBehind)
		return nil, "", true
	}
	// Not the request's context: what a recorder has begun, a client that leaves
	// should not tear.
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
		case <-g.done: // both at once
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
	cancel() // after the token: whoever waits takes the end of ctx for the end of its time
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

// try calls do and survives its panic.
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

// send is what goes upstream in the place of the client's body; nil for that itself.
func (g *guard) send() (body []byte) {
	if s, ok := g.recording.(Sender); ok {
		g.try("Send", func() { body = s.Send() })
	}
	return body
}

// again reports whether the recording may have another body for a call that is refused.
func (g *guard) again() (again bool) {
	if s, ok := g.recording.(Sender); ok && !g.left && !g.failed {
		g.try("Again", func() { again = s.Again() })
	}
	return again
}

// refused asks the recording for another body; nil for none.
func (g *guard) refused(status int, answer []byte) []byte {
	if _, ok := g.recording.(Sender); !ok || g.left || g.failed {
		return nil
	}
	again := new([]byte) // a recording that is left behind may still write to it
	if !g.give(job{kind: jobRefused, status: status, p: answer, again: again}) || !g.wait(g.begin) || g.failed {
		return nil
	}
	return *again
}

// header has the recording add its headers to h, after telling it of the answer if
// there is one. It is false where the recording has failed or was left behind.
func (g *guard) header(h http.Header, status int, answer http.Header) bool {
	// Its own map: a recording that is left behind may still write to it.
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

// write hands over bytes of the body. While it is true, p belongs to the recording
// until the next write or finish, and what was handed over before is free. Once it is
// false, what was handed over before may still be read by a recording that was left
// behind, and p is free.
func (g *guard) write(p []byte) bool { return g.give(job{kind: jobWrite, p: p}) }

// finish ends the recording and waits for nothing. out is the buffer that was handed
// over last, if one was; it goes back to its pool when the recording has read it.
func (g *guard) finish(err error, out *buffer) {
	if g.left {
		return
	}
	g.left = true
	g.jobs <- job{kind: jobEnd, err: err, out: out}
	close(g.jobs)
}

// give waits for the job before and hands over j.
func (g *guard) give(j job) bool {
	if g.left || !g.wait(g.limit) {
		return false
	}
	g.jobs <- j
	g.busy = true
	return true
}

// wait waits for the job that is out, for no longer than a limit.
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

// leave goes on without the recording.
func (g *guard) leave(method string, limit time.Duration) {
	g.left, g.behind = true, true
	g.s.behind.Add(1)
	close(g.jobs)
	g.s.counters.recorderSlow.Add(1)
	g.s.log.Error("the recorder is too slow; the call goes on without it", "id", g.id, "method", method, "limit", limit)
}
