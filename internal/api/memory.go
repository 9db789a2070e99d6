package api

import (
	"io"
	"net/http"
	"time"

	"github.com/oriel-context/oriel/internal/call"
)

// errShort: the memory for people who look is held by others.
var errShort = newProblem(http.StatusServiceUnavailable, "try again in some seconds, or read fewer at a time",
	"there is no memory for this now: other answers are still being read")

// unlimited is memory without a limit.
type unlimited struct{}

func (unlimited) Take(int64) bool { return true }
func (unlimited) Give(int64)      {}
func (unlimited) Hold()           {}
func (unlimited) LetGo()          {}

var _ call.Memory = unlimited{}

// readAll reads to the end, which length announces if it is not negative. It takes memory as
// bytes come, never for an announcement.
func readAll(r io.Reader, length int64, memory call.Memory) ([]byte, error) {
	const first = 16 << 10
	if !memory.Take(first) {
		return nil, errShort
	}
	body := make([]byte, 0, first)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
		if len(body) == cap(body) {
			size := 2 * cap(body)
			if over := int(length) + 1; length >= int64(len(body)) && over < size { // one more, to see the end
				size = over
			}
			if !memory.Take(int64(size - cap(body))) {
				return nil, errShort
			}
			body = append(make([]byte, 0, size), body...)
		}
	}
}

// Limits of a reader of an answer, which is in memory until it is read.
const (
	// readStep is how much of an answer is written at a time, and readWait how long its reader
	// may take for that.
	readStep = 64 << 10
	readWait = 10 * time.Second
)

// reader writes an answer to its reader, who has to read on.
type reader struct {
	w       http.ResponseWriter
	control *http.ResponseController
	until   time.Time // when all must be read
}

func newReader(w http.ResponseWriter) *reader {
	return &reader{w, http.NewResponseController(w), time.Now().Add(requestTime)}
}

func (r *reader) Write(p []byte) (written int, err error) {
	for err == nil && written < len(p) {
		due := time.Now().Add(readWait)
		if due.After(r.until) {
			due = r.until
		}
		r.control.SetWriteDeadline(due)
		var n int
		n, err = r.w.Write(p[written:min(len(p), written+readStep)])
		written += n
	}
	return written, err
}
