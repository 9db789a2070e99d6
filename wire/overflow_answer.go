package wire

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// answer holds the relevant fields of an error response. Other fields, such as the
// input that a validator repeats, are not read.
type answer struct {
	// messages are the error messages in lower case, without the prefixes of gateways;
	// codes are their codes and types in lower case.
	messages, codes []string
	// status is the innermost HTTP status; 0 if there is none.
	status int
	// window and prompt are llama.cpp's n_ctx and n_prompt_tokens.
	window, prompt int
	// failed reports that the response contains an error.
	failed bool
}

// nested is how deeply JSON may be nested inside strings: gateways wrap the responses
// that they receive.
const nested = 4

func readAnswer(body []byte) answer {
	r := answerReader{}
	if doc, err := rawjson.Parse(body, rawjson.Limits{}); err == nil {
		r.value(doc.Root(), "error", 0, nested)
		return r.answer
	}
	var text []byte
	for line := range bytes.Lines(body) {
		data, event := bytes.CutPrefix(line, []byte("data:"))
		if event {
			if doc, err := rawjson.Parse(data, rawjson.Limits{}); err == nil {
				r.value(doc.Root(), "error", 0, nested)
				continue
			}
		}
		if bytes.HasPrefix(line, []byte("event:")) {
			r.failed = r.failed || bytes.HasPrefix(line, []byte("event: error"))
			continue
		}
		text = append(text, line...)
	}
	r.say(string(text), 0, nested)
	return r.answer
}

type answerReader struct {
	answer
	depth int // of status
}

// errorMembers are the members that hold an error or another response.
var errorMembers = map[string]bool{
	"error": true, "errors": true, "message": true, "msg": true, "detail": true, "details": true, "response": true,
	"metadata": true, "raw": true,
	"innererror": true, "inner_error": true, "cause": true, "$metadata": true,
}

// value reads the value of an error member at the given depth.
func (r *answerReader) value(v rawjson.Value, name string, depth, nested int) {
	switch v.Kind() {
	case rawjson.Object:
		for k, member := range v.Members() {
			name := string(protocol.Key(k))
			r.failed = r.failed || name == "error" && member.Kind() != rawjson.Null
			if errorMembers[name] || name == "body" && member.Has("error") {
				r.value(member, name, depth+1, nested)
				continue
			}
			switch member.Kind() {
			case rawjson.Number:
				if n, ok := member.Int(); ok {
					r.number(name, n, depth+1)
				}
			case rawjson.String:
				s := member.Str()
				if n, err := strconv.ParseInt(s, 10, 64); err == nil {
					r.number(name, n, depth+1)
				}
				switch name {
				case "code", "type", "name", "error_type", "status", "reason":
					r.codes = append(r.codes, strings.ToLower(s))
				}
			}
		}
	case rawjson.Array:
		for e := range v.Elems() {
			r.value(e, name, depth+1, nested)
		}
	case rawjson.String:
		r.say(v.Str(), depth, nested)
	}
}

// say reads a message: its first sentence, or the response that it wraps.
func (r *answerReader) say(s string, depth, nested int) {
	const longest = 64 << 10 // errors are shorter
	s = strings.TrimSpace(s[:min(len(s), longest)])
	for {
		at := wrapping().FindString(strings.ToLower(s[:min(len(s), 200)]))
		if at == "" {
			break
		}
		if strings.Contains(at, "contextwindowexceeded") {
			r.codes = append(r.codes, "contextwindowexceedederror")
		}
		s = strings.TrimSpace(s[len(at):])
	}
	inner := strings.TrimPrefix(s, "b'")
	if nested > 0 && (strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[")) {
		if end := strings.LastIndexAny(inner, "}]"); end > 0 {
			if doc, err := rawjson.Parse([]byte(inner[:end+1]), rawjson.Limits{}); err == nil {
				r.value(doc.Root(), "error", depth+1, nested-1)
				return
			}
		}
	}
	if s != "" {
		r.messages = append(r.messages, strings.ToLower(s))
	}
}

// number notes an HTTP status or a window. Codes of other kinds are outside the range
// of statuses.
func (r *answerReader) number(name string, n int64, depth int) {
	switch name {
	case "status", "code", "statusCode", "status_code", "httpStatusCode", "http_status", "http_code":
		if n >= 100 && n < 600 && (r.status == 0 || depth > r.depth) {
			r.status, r.depth = int(n), depth
		}
	case "n_ctx":
		if n > 0 && n < 1<<31 {
			r.window = int(n)
		}
	case "n_prompt_tokens":
		if n > 0 && n < 1<<31 {
			r.prompt = int(n)
		}
	}
}
