package forward

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestABodyInMemoryArrivesAsItIs(t *testing.T) {
	var got []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got,
			_ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	transport := &http.Transport{WriteBufferSize: 64 << 10, DialContext: Dial(new(net.Dialer).DialContext)}
	defer transport.CloseIdleConnections()
	for _, body := range [][]byte{bytes.Repeat([]byte("0123456789abcdef"), 1<<17), []byte("short"), {}} {
		r, err := http.NewRequest("POST", server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		SetBody(r, body)
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if !bytes.Equal(got, body) {
			t.Errorf("%d bytes arrived of %d", len(got), len(body))
		}
	}
}

// pieces records what is written.
type pieces []string

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, string(b))
	return len(b), nil
}

func TestABodyInMemoryIsWrittenAtOnceWithinItsLength(t *testing.T) {
	for length, want := range map[int64]string{10: "0123456789", 20: "0123456789", 4: "0123"} {
		var out pieces
		body := bytes.NewReader([]byte("0123456789"))
		limited := &io.LimitedReader{R: body, N: length}
		n, err := writeWhole(&out, body, limited)
		if err != nil || len(out) != 1 || out[0] != want || n != int64(len(want)) || limited.N != length-n ||
			body.Len() != 10-len(want) {
			t.Errorf("length %d: %q, %d bytes, %d left of the length and %d of the body, %v", length, out, n, limited.N,
				body.Len(), err)
		}
	}
}

// The body of a request made by SetBody reaches the connection as one that can write
// itself.
func TestTheTransportHandsOverTheBody(t *testing.T) {
	r := &http.Request{Header: http.Header{}}
	SetBody(r, []byte("text"))
	if _, ok := r.Body.(io.WriterTo); !ok {
		t.Errorf("%T", r.Body)
	}
}

func TestOtherConnectionsStayWhatTheyAre(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	c, err := Dial(func(_ context.Context, _, _ string) (net.Conn, error) { return here, nil })(t.Context(), "tcp", "")
	if err != nil || c != here {
		t.Errorf("%T, %v", c, err)
	}
}
