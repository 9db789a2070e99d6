package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Errors of New; ErrKey is of Embed too, since the key may change.
var (
	// ErrConfig: an option that cannot be used.
	ErrConfig = errors.New("not a valid setting")
	// ErrKey: the key cannot be sent, or must not.
	ErrKey = errors.New("the key cannot be used")
)

// Errors of Embed. A context's own error is found with errors.Is as well.
var (
	// ErrUnavailable: the server cannot be reached, or says that it cannot answer
	// now. It was tried as often as the options allow.
	ErrUnavailable = errors.New("the server is not available")
	// ErrRefused: the server does not want this request. Trying again is useless.
	ErrRefused = errors.New("the server refused")
	// ErrTooLong: a text is longer than the model reads. It is an ErrRefused.
	ErrTooLong = fmt.Errorf("%w a text as too long", ErrRefused)
	// ErrAnswer: the server answered, but not with a vector for each text.
	ErrAnswer = errors.New("not a usable answer")
)

// Error says what failed, where, why and what to do about it. It never contains the
// key.
type Error struct {
	// Server is the host that was asked.
	Server string
	// First and Last are the texts of the request that failed, counted from 0 within
	// the call.
	First, Last int
	// Status is the HTTP status, 0 if there was no answer.
	Status int
	// Message is what the server said, shortened.
	Message string
	// Tries is how often the request was sent; 0 if it was not.
	Tries int
	// RetryAfter is how long the server asked to wait, 0 if it did not.
	RetryAfter time.Duration
	// Err is the cause: one of the errors above, or that of a context.
	Err error
	// Hint is what to do; it may be empty.
	Hint string

	// again says that the same request may succeed later.
	again bool
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("embed")
	if e.Tries > 0 {
		fmt.Fprintf(&b, " texts %d to %d", e.First, e.Last)
	}
	if e.Server != "" {
		b.WriteString(" by " + e.Server)
	}
	b.WriteString(": " + e.Err.Error())
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Tries > 1 {
		fmt.Fprintf(&b, " (%d tries)", e.Tries)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail makes an error of this server.
func (m *Model) fail(err error, hint string) *Error {
	return &Error{Server: m.url.Host, Err: err, Hint: hint}
}

// maxMessage is how many bytes of a server's words an error has at most.
const maxMessage = 300

// message finds the server's own words in the body of an error, and its code. It
// knows the forms of OpenAI and vLLM ({"error":{"message":…}}, {"message":…}), of
// Ollama ({"error":"…"}) and of FastAPI ({"detail":…}); anything else is taken as
// text.
func message(body []byte) (text, code string) {
	var form struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(body, &form) != nil {
		return string(body), ""
	}
	var inner struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
	}
	_ = json.Unmarshal(form.Error, &inner) // a string is looked at below
	_ = json.Unmarshal(inner.Code, &code)  // a number is the status again
	if code == "" {
		_ = json.Unmarshal(form.Code, &code)
	}
	for _, text := range []string{inner.Message, plain(form.Error), form.Message, plain(form.Detail)} {
		if text != "" {
			return text, code
		}
	}
	return string(body), code
}

// plain is the text of a JSON string, or the JSON itself.
func plain(raw json.RawMessage) (s string) {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// withheld stands for words that have the key in them in some other writing.
const withheld = "(the server's words are left out: they repeat the key)"

// tidy makes a server's words fit for an error: without the key, on one line, and
// short. The key goes first: cut in two it would not be found.
func tidy(text, key string) string {
	text = scrub(text, key)
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	text = scrub(text, key)
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// scrub takes the key out of a text. One that has it in another writing (escaped
// for JSON, HTML or addresses, in other letters) is withheld as a whole.
func scrub(text, key string) string {
	if key == "" {
		return text
	}
	text = strings.ReplaceAll(text, key, "[key]")
	// A key of a few letters would be found in anything.
	if bare := bare(key); len(bare) >= 8 && strings.Contains(barest(text), bare) {
		return withheld
	}
	return text
}

// barest undoes every escaping that servers use, one within the other too.
func barest(text string) string {
	for range 3 {
		text = html.UnescapeString(text)
		text = unescape.ReplaceAllStringFunc(text, func(code string) string {
			n, err := strconv.ParseUint(strings.TrimLeft(code, `\u%x`), 16, 16)
			if err != nil {
				return code
			}
			return string(rune(n))
		})
	}
	return bare(text)
}

var unescape = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}`)

// bare keeps letters and digits, in lower case.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// scrubError gives an error whose text does not have the key. One that has it is
// replaced, so that unwrapping does not find it either.
func scrubError(err error, key string) error {
	if text := err.Error(); scrub(text, key) != text {
		return errors.New(tidy(text, key))
	}
	return err
}
