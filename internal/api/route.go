package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/call"
)

// request is one request to the API.
type request struct {
	*Handler
	*http.Request
	w      http.ResponseWriter
	tenant string
	memory call.Memory
	body   []byte
}

// raw is an answer that is not encoded.
type raw struct {
	kind string
	data []byte
}

// mount adds a route to the handler's.
func (h *Handler) mount(t *route) {
	h.mux.HandleFunc(t.method+" "+Prefix+t.path, func(w http.ResponseWriter, r *http.Request) {
		answer, err := h.serve(t, w, r)
		switch {
		case err != nil:
			h.writeProblem(w, r, err)
		case answer != nil:
			writeRaw(w, r, answer)
		}
	})
}

// requestTime is how long a request may take, and how long its answer may be read; a stream of
// events may last any time.
const requestTime = time.Minute

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	SecurityHeaders(w.Header())
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			h.writeProblem(w, r, fmt.Errorf("a panic: %v", p))
		}
	}()
	handler, pattern := h.mux.Handler(r)
	if escaped := r.URL.EscapedPath(); pattern == "" || path.Clean(escaped) != escaped {
		h.unknown(w, r, handler)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// unknown answers a request that no route has: with 405 if the path has other methods.
func (h *Handler) unknown(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	found := &statusOnly{header: http.Header{}}
	handler.ServeHTTP(found, r)
	if found.status == http.StatusMethodNotAllowed {
		allow := found.header.Get("Allow")
		w.Header().Set("Allow", allow)
		h.writeProblem(w, r, newProblem(http.StatusMethodNotAllowed, "use "+allow, "%s is not possible here", r.Method))
		return
	}
	h.writeProblem(w, r, notFound("GET "+Prefix+"openapi.json lists all paths", "there is nothing at this path"))
}

// statusOnly is a response of which only the status and the header are kept.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }

// serve checks a request and serves it. The answer is nil if the route wrote it.
func (h *Handler) serve(t *route, w http.ResponseWriter, r *http.Request) (*raw, error) {
	if err := checkIntent(r); err != nil {
		return nil, err
	}
	if err := checkQuery(r, t.query); err != nil {
		return nil, err
	}
	q := &request{Handler: h, Request: r, w: w, tenant: h.Tenant(r.Context()), memory: h.Memory(r.Context())}
	if err := q.read(t); err != nil {
		return nil, err
	}
	if t.stream != "" {
		_, err := t.do(q)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	q.Request = r.WithContext(ctx)
	leave, err := h.slots.Enter(ctx, q.tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	answer, err := t.do(q)
	if err != nil {
		return nil, err
	}
	return q.encode(answer)
}

// encode encodes an answer. Its memory is that of the request until it is read; others have
// their turn meanwhile.
func (q *request) encode(answer any) (*raw, error) {
	out, ok := answer.(*raw)
	if !ok {
		data, err := json.Marshal(answer)
		if err != nil {
			return nil, err
		}
		out = &raw{"application/json", append(data, '\n')}
	}
	if !q.memory.Take(int64(cap(out.data))) {
		return nil, errShort
	}
	return out, nil
}

// checkIntent refuses what a web page of another origin could send without being asked:
// browsers send neither this header nor this content type across origins unasked.
func checkIntent(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "application/json" || r.Header.Get("X-Oriel-Console") == "1" {
		return nil
	}
	return newProblem(http.StatusForbidden, "send the header Content-Type: application/json, or X-Oriel-Console: 1",
		"the request lacks a header that shows that no other web page sent it")
}

// checkQuery refuses parameters that a route does not have, and those given twice.
func checkQuery(r *http.Request, parameters []*parameter) error {
	var known []string
	for _, p := range parameters {
		known = append(known, p.name)
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, ";") {
		if len(pair) != len(r.URL.RawQuery) {
			return badRequest("separate parameters by &", "the query has a semicolon")
		}
	}
	for name, values := range r.URL.Query() {
		switch {
		case !slices.Contains(known, name):
			hint := "leave it out"
			if len(known) > 0 {
				hint = "this path has " + strings.Join(known, ", ")
			}
			return badRequest(hint, "unknown parameter %.60q", name)
		case len(values) > 1:
			return badRequest("give it once", "parameter %q is given %d times", name, len(values))
		}
	}
	return nil
}

// fitWork is the memory for fitting a body, in addition to it, as a multiple of its size.
const fitWork = 1

// read reads the body, and reserves memory for the work with a large one.
func (q *request) read(t *route) error {
	if t.body == 0 {
		return nil
	}
	var err error
	q.body, err = readAll(http.MaxBytesReader(q.w, q.Body, t.body), q.ContentLength, q.memory)
	if err == nil && len(q.body) > smallBody && !q.memory.Take(fitWork*int64(len(q.body))) {
		err = errShort
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errShort):
		return err
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, "send less", "the body has more than %d bytes", t.body)
	case err != nil:
		return badRequest("send the whole body", "the body could not be read")
	}
	return nil
}

// decode decodes the body into v, whose members are all that it may have.
func (q *request) decode(v any) error {
	if len(bytes.TrimSpace(q.body)) == 0 {
		q.body = []byte("{}")
	}
	if err := checkMembers(q.body, v); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(q.body))
	err := d.Decode(v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind) && kind.Field != "":
		return badRequest("GET "+Prefix+"openapi.json describes the body",
			"member %q of the body cannot be a %s: give a %s", kind.Field, kind.Value,
			jsonName(kind.Type.Kind().String()))
	}
	return badRequest("send one JSON object", "the body cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// checkMembers refuses what encoding/json would accept for v, a pointer to a struct: members
// that it does not have, or in other letters, and members that are null.
func checkMembers(body []byte, v any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return badRequest("send one JSON object", "the body is not a JSON object")
	}
	var known []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known = append(known, name)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch {
		case !slices.Contains(known, name):
			hint := "leave it out"
			if len(known) > 0 {
				hint = "the body may have " + strings.Join(known, ", ")
			}
			return badRequest(hint, "the body has an unknown member %.60q", name)
		case string(members[name]) == "null":
			return badRequest("leave it out, or give it a value", "member %q of the body is null", name)
		}
	}
	return nil
}

// jsonName returns JSON's name of one of Go's kinds.
func jsonName(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "whole number"
	case strings.HasPrefix(kind, "float"):
		return "number"
	case kind == "bool":
		return "boolean"
	case kind == "slice":
		return "list"
	case kind == "struct" || kind == "map":
		return "object"
	}
	return kind
}

// leastGzip is the size in bytes from which answers are compressed.
const leastGzip = 1 << 10

// writeRaw writes an answer.
func writeRaw(w http.ResponseWriter, r *http.Request, out *raw) {
	reader := newReader(w)
	header := w.Header()
	header.Set("Content-Type", out.kind)
	header.Add("Vary", "Accept-Encoding")
	if len(out.data) < leastGzip || !acceptsGzip(r.Header.Get("Accept-Encoding")) {
		reader.Write(out.data)
		return
	}
	header.Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(reader, gzip.BestSpeed)
	z.Write(out.data)
	z.Close()
}

// acceptsGzip reports whether a client accepts gzip.
func acceptsGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == "gzip" {
			weight = strings.ReplaceAll(weight, " ", "")
			return weight != "q=0" && weight != "q=0.0" && weight != "q=0.00" && weight != "q=0.000"
		}
	}
	return false
}

func (q *request) openAPI() (*raw, error) { return &raw{"application/json", openAPI}, nil }
