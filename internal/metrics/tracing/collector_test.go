package tracing_test

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// collector is an OTLP receiver.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	header http.Header
	refuse int // how many requests to refuse with 503 first
}

func newCollector(t *testing.T) *collector {
	c := new(collector)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.refuse > 0 {
			c.refuse--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s %s", r.Method, r.URL.Path, r.Header)
		}
		in := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			in = unpacked
		}
		body, err := io.ReadAll(in)
		if err != nil {
			t.Error(err)
		}
		c.bodies, c.header = append(c.bodies, body), r.Header.Clone()
	}))
	t.Cleanup(c.Close)
	return c
}

// span is a span as it was received.
type span struct {
	name, trace, id, parent string
	kind, status            uint64
	start, end              uint64
	attributes              map[string]any
	events                  map[string]map[string]any
}

// received returns the spans, and the attributes of the resource.
func (c *collector) received(t *testing.T) (spans []*span, resource map[string]any) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, body := range c.bodies {
		for _, all := range fields(t, body)[1] {
			top := fields(t, all.bytes)
			resource = attributesOf(t, fields(t, top[1][0].bytes)[1])
			for _, scope := range top[2] {
				for _, s := range fields(t, scope.bytes)[2] {
					spans = append(spans, readSpan(t, s.bytes))
				}
			}
		}
	}
	return spans, resource
}

func readSpan(t *testing.T, b []byte) *span {
	f := fields(t, b)
	s := &span{
		name: string(f[5][0].bytes), trace: hex.EncodeToString(f[1][0].bytes), id: hex.EncodeToString(f[2][0].bytes),
		kind: f[6][0].number, start: f[7][0].number, end: f[8][0].number, attributes: attributesOf(t, f[9]),
		events: map[string]map[string]any{},
	}
	if len(f[4]) > 0 {
		s.parent = hex.EncodeToString(f[4][0].bytes)
	}
	if len(f[15]) > 0 {
		s.status = fields(t, f[15][0].bytes)[3][0].number
	}
	for _, e := range f[11] {
		ef := fields(t, e.bytes)
		s.events[string(ef[2][0].bytes)] = attributesOf(t, ef[3])
	}
	return s
}

func attributesOf(t *testing.T, list []field) map[string]any {
	out := map[string]any{}
	for _, kv := range list {
		f := fields(t, kv.bytes)
		for n, v := range fields(t, f[2][0].bytes) {
			switch n {
			case 1:
				out[string(f[1][0].bytes)] = string(v[0].bytes)
			case 2:
				out[string(f[1][0].bytes)] = v[0].number == 1
			case 3:
				out[string(f[1][0].bytes)] = int64(v[0].number)
			case 4:
				out[string(f[1][0].bytes)] = math.Float64frombits(v[0].number)
			}
		}
	}
	return out
}

type field struct {
	bytes  []byte
	number uint64
}

// fields reads a message of protobuf.
func fields(t *testing.T, b []byte) map[protowire.Number][]field {
	t.Helper()
	out := map[protowire.Number][]field{}
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		b = b[size:]
		var f field
		switch kind {
		case protowire.BytesType:
			f.bytes, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			f.number, size = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.number, size = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var n uint32
			n, size = protowire.ConsumeFixed32(b)
			f.number = uint64(n)
		}
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		b = b[size:]
		out[n] = append(out[n], f)
	}
	return out
}
