package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"time"
)

// maxHead is how many bytes of a stream are read to see whether it begins with an error:
// the first events of Responses repeat instructions and tools twice.
const maxHead = 1 << 20

// headWait is how long the beginning of a stream may be held back for that: a model may
// be silent for long after it has begun.
const headWait = 2 * time.Second

// streamRefusal returns the error with which a stream begins, or nil. Of an ordinary
// stream it reads only the first line.
func streamRefusal(res *http.Response) []byte {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind != "text/event-stream" || len(res.Header["Content-Encoding"]) > 0 {
		return nil
	}
	late := time.NewTimer(headWait)
	defer late.Stop()
	head := make([]byte, 0, 4<<10)
	for {
		more := readOn(res.Body, cap(head)-len(head))
		var err error
		select {
		case m := <-more:
			head, err = append(head, m.p...), m.err
		case <-late.C:
			res.Body = joined{io.MultiReader(bytes.NewReader(head), &awaited{from: more}, res.Body), res.Body}
			return nil
		}
		failed, sure := beginsWithError(head)
		if !sure && err == nil && len(head) < maxHead {
			if len(head) == cap(head) {
				head = append(make([]byte, 0, 2*cap(head)), head...)
			}
			continue
		}
		putBack(res, head)
		if failed {
			return head
		}
		return nil
	}
}

// part is the result of one Read.
type part struct {
	p   []byte
	err error
}

// readOn reads from a body in another goroutine.
func readOn(body io.Reader, most int) <-chan part {
	done := make(chan part, 1)
	go func() {
		p := make([]byte, most)
		n, err := body.Read(p)
		done <- part{p[:n], err}
	}()
	return done
}

// awaited returns the result of a Read that is in progress.
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
	return n, io.EOF // the body continues after it
}

// maxWhole is the size up to which a complete answer is inspected: errors are short.
const maxWhole = 16 << 10

// wholeRefusal returns a complete answer that contains only an error despite its status
// 200, as some gateways send, or nil.
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
	for _, reply := range []string{"choices", "content", "output", "role"} {
		if answer[reply] != nil {
			return nil
		}
	}
	return text
}

// beginsWithError reports whether the first event of a stream is an error; sure is false
// until that is certain.
func beginsWithError(p []byte) (failed, sure bool) {
	p = bytes.TrimPrefix(p, []byte("\xef\xbb\xbf"))
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
			if early = opening[string(value)]; early {
				continue
			}
			if failed = string(value) == "error" || string(value) == "response.failed"; !failed {
				return false, true
			}
		case "data":
			if early {
				continue
			}
			if failed = failed || bytes.Contains(value, []byte(`"error"`)) && !bytes.Contains(value, []byte(`"error":null`)); !failed {
				return false, true
			}
		}
	}
}

// opening lists the events that precede the outcome of a stream.
var opening = map[string]bool{"ping": true, "response.created": true, "response.queued": true, "response.in_progress": true}
