package api

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Times of a stream of events: how often a quiet one is kept alive, and how long a reader
// may take to accept what is written.
const (
	heartbeat  = 15 * time.Second
	streamWait = 10 * time.Second
)

// maxStreams and maxAllStreams are how many streams of a tenant and of all may be open at a
// time. Beyond that the oldest one ends.
const maxStreams, maxAllStreams = 64, 512

// events serves a stream of events until the client leaves, or newer streams need its place.
func (q *request) events() (*raw, error) {
	after, err := q.streamFrom()
	if err != nil {
		return nil, err
	}
	end, leave := q.Hub.enter(q.tenant)
	defer leave()
	header := q.w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("X-Accel-Buffering", "no")
	s := &stream{request: q, control: http.NewResponseController(q.w), conversation: q.URL.Query().Get("conversation")}
	q.w.WriteHeader(http.StatusOK)
	s.send("hello", 0, fmt.Appendf(nil, `{"version":%q,"last":%d}`, q.Version, q.Hub.lastOf(q.tenant)))
	s.run(after, end)
	return nil, nil
}

// streamFrom returns the id of the last event that the client has.
func (q *request) streamFrom() (int64, error) {
	text := q.Header.Get("Last-Event-ID")
	if given := q.URL.Query().Get("after"); given != "" {
		text = given
	}
	if text == "" {
		return q.Hub.lastOf(q.tenant), nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0, badRequest("give the id of the last event that you have, or 0",
			"parameter %q is %.40q, not an id of an event", "after", text)
	}
	return min(id, q.Hub.lastOf(q.tenant)), nil // ids begin anew with the process
}

// stream writes events to a client.
type stream struct {
	*request
	control      *http.ResponseController
	conversation string // the only one whose events are wanted; empty for all
	failed       error
}

// run writes events until the client leaves, the server ends, a write fails or end is closed.
func (s *stream) run(after int64, end <-chan struct{}) {
	quiet := time.NewTicker(heartbeat)
	defer quiet.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	seen, watched := progress{id: after}, s.watch()
	for s.failed == nil {
		found, lost, more := s.Hub.after(s.tenant, &seen)
		if lost > 0 {
			s.send("dropped", 0, fmt.Appendf(nil, `{"dropped":%d}`, lost))
		}
		for i := range found {
			if s.conversation == "" || found[i].event.Conversation == s.conversation {
				s.send(found[i].event.Kind, found[i].id, found[i].encode())
			}
		}
		s.flush()
		select {
		case <-more:
		case <-quiet.C:
			s.write([]byte(": \n\n"))
		case <-look.C:
			watched.report(s)
		case <-s.Context().Done():
			return
		case <-end:
			return
		}
	}
}

// send writes one event. JSON has no line breaks of its own.
func (s *stream) send(kind string, id int64, data []byte) {
	var b []byte
	if id > 0 {
		b = fmt.Appendf(b, "id: %d\n", id)
	}
	s.write(fmt.Appendf(b, "event: %s\ndata: %s\n\n", kind, data))
}

func (s *stream) write(b []byte) {
	if s.failed == nil {
		s.control.SetWriteDeadline(time.Now().Add(streamWait))
		_, s.failed = s.w.Write(b)
	}
}

func (s *stream) flush() {
	if s.failed == nil {
		s.failed = s.control.Flush()
	}
}
