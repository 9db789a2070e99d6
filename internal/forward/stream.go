package forward

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/oriel-context/oriel/wire"
)

// maxHead bounds how much of a stream is read to see whether it begins with an error: the
// first events of Responses repeat instructions and tools, twice.
const maxHead = 1 << 20

// HeadWait is the longest that the beginning of a stream is held back: a model may be
// silent for long once it has begun. Tests set it before anything is read: on a busy
// machine an error may come later.
var HeadWait = 2 * time.Second

// streamRefusal returns the error that a stream begins with, or nil if it begins with
// anything else. Of an ordinary stream no more is read than its first line.
func streamRefusal(res *http.Response, wait time.Duration, run starter) []byte {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	framing, stream := wire.FramingOf(kind)
	if !stream || len(res.Header["Content-Encoding"]) > 0 {
		return nil
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	head := make([]byte, 0, 4<<10)
	for {
		more := readOn(res.Body, cap(head)-len(head), run)
		var err error
		select {
		case m := <-more:
			head, err = append(head, m.p...), m.err
		case <-late.C:
			res.Body = continued(head, io.MultiReader(&awaited{from: more}, res.Body), res.Body)
			return nil
		}
		text, sure := beginsWithError(head, framing)
		if !sure && err == nil && len(head) < maxHead {
			if len(head) == cap(head) {
				head = append(make([]byte, 0, 2*cap(head)), head...)
			}
			continue
		}
		putBack(res, head)
		return text
	}
}

// part is the result of one Read.
type part struct {
	p   []byte
	err error
}

// starter is resender.Go.
type starter func(work func() (then func()))

// readOn reads once from a body in another goroutine.
func readOn(body io.Reader, most int, run starter) <-chan part {
	done := make(chan part, 1)
	run(func() func() {
		p := make([]byte, most)
		n, err := body.Read(p)
		return func() { done <- part{p[:n], err} }
	})
	return done
}

// awaited reads the result of a Read that is under way.
type awaited struct {
	from <-chan part
	part
}

func (a *awaited) Read(p []byte) (int, error) {
	if a.from != nil {
		a.part = <-a.from
		a.from = nil
	}
	n := copy(p, a.p)
	if a.p = a.p[n:]; len(a.p) > 0 {
		return n, nil
	}
	if a.err != nil {
		return n, a.err
	}
	return n, io.EOF // the rest of the body follows
}

// maxWhole bounds the size of an answer that may be nothing but an error.
const maxWhole = 16 << 10

// wholeRefusal returns an answer with status 200 that is nothing but an error, as some
// gateways send them; nil for any other.
func wholeRefusal(res *http.Response) []byte {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind != "application/json" || res.ContentLength <= 0 || res.ContentLength > maxWhole {
		return nil
	}
	text := textOf(res)
	var answer map[string]json.RawMessage
	if json.Unmarshal(text, &answer) != nil || !bytes.HasPrefix(answer["error"], []byte("{")) {
		return nil
	}
	for member, value := range answer {
		if value != nil && wire.IsReplyMember(member) {
			return nil
		}
	}
	return text
}

// beginsWithError returns the text of the error with which a stream begins, or nil if it begins
// with anything else, as soon as that is sure.
func beginsWithError(p []byte, framing wire.Framing) (text []byte, sure bool) {
	var failed bool
	switch framing {
	case wire.Frames:
		return wire.FrameRefusal(p)
	case wire.Lines:
		first, _, whole := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(p, mark), "\r\n"), []byte("\n"))
		failed, sure = hasError(first), whole
	default:
		failed, sure = eventHasError(bytes.TrimPrefix(p, mark))
	}
	if !failed {
		return nil, sure
	}
	return p, sure
}

// mark is a byte order mark.
var mark = []byte("\xef\xbb\xbf")

// eventHasError reports whether the first server-sent event is an error.
func eventHasError(p []byte) (failed, sure bool) {
	early := false // the event decides nothing yet
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if !whole {
			return failed, false
		}
		p = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch string(name) {
		case "": // the end of an event, or a comment
			if failed || len(line) > 0 {
				return failed, true
			}
			early = false
		case "event":
			if early = wire.IsOpening(string(value)); early {
				continue
			}
			if failed = string(value) == "error" || string(value) == "response.failed"; !failed {
				return false, true
			}
		case "data":
			if early {
				continue
			}
			if failed = failed || hasError(value); !failed {
				return false, true
			}
		}
	}
}

// hasError reports whether an event has an error.
func hasError(event []byte) bool {
	return bytes.Contains(event, []byte(`"error"`)) && !bytes.Contains(event, []byte(`"error":null`))
}
