package proxy

import (
	"bytes"
	"mime"
	"net/http"
)

// maxHead is the most of a stream that is read to see whether it begins with an error.
const maxHead = 64 << 10

// streamRefusal is the error that a stream begins with; nil where it begins with
// anything else. Of an ordinary stream no more is read than its first line.
func streamRefusal(res *http.Response) []byte {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind != "text/event-stream" || len(res.Header["Content-Encoding"]) > 0 {
		return nil
	}
	head := make([]byte, 0, 4<<10)
	for {
		n, err := res.Body.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
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

// beginsWithError reports whether the first event of a stream is an error, as soon as
// that is sure.
func beginsWithError(p []byte) (failed, sure bool) {
	p = bytes.TrimPrefix(p, []byte("\xef\xbb\xbf"))
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
		case "event":
			if failed = string(value) == "error" || string(value) == "response.failed"; !failed {
				return false, true
			}
		case "data":
			if failed = failed || bytes.Contains(value, []byte(`"error"`)) && !bytes.Contains(value, []byte(`"error":null`)); !failed {
				return false, true
			}
		}
	}
}
