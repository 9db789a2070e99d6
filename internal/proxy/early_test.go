package proxy_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/proxy"
)

// A client that waits for leave to send its body gets it: from the provider, or, for a
// call, from the proxy, which wants to see it.
func TestExpectContinue(t *testing.T) {
	var got seen
	refused := false
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if refused {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		got = see(r)
	})
	proxy.WaitForLeaveForTest(s.server, time.Minute)
	for _, path := range []string{"/v1/files", "/v1/messages"} {
		c := s.raw("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
		b := bufio.NewReader(c)
		if code := status(t, b); code != http.StatusContinue {
			t.Fatal(path, code)
		}
		io.WriteString(c, "{}")
		if code := status(t, b); code != http.StatusOK || string(got.body) != "{}" {
			t.Fatal(path, code, string(got.body))
		}
		if expects := got.header.Get("Expect") != ""; expects != (path == "/v1/files") {
			t.Error(path, got.header)
		}
		c.Close()
	}
	// A refusal comes before the body is sent.
	refused = true
	c := s.raw("POST /v1/files HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	if code := status(t, bufio.NewReader(c)); code != http.StatusUnauthorized {
		t.Fatal(code)
	}
}

// status reads the head of an answer, or of one before the answer (1xx).
func status(t *testing.T, b *bufio.Reader) int {
	t.Helper()
	res, err := http.ReadResponse(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

// Leave is given once, also where the provider gives it after the proxy has: it took
// longer than the proxy waits. Other answers before the answer all arrive.
func TestLeaveToSendABodyIsGivenOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	failed := make(chan error, 1)
	go func() { failed <- lateLeave(l) }()
	s := start(t, proxy.Options{OpenAI: "http://" + l.Addr().String()}, nil)
	proxy.WaitForLeaveForTest(s.server, time.Nanosecond)
	c := s.raw("POST /v1/files HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
	b, counts := bufio.NewReader(c), map[int]int{}
	for code := 0; code < 200; counts[code]++ {
		res, err := http.ReadResponse(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if code = res.StatusCode; code == http.StatusContinue {
			if len(res.Header) > 0 {
				t.Error("leave has a header:", res.Header)
			}
			if counts[code] == 0 {
				io.WriteString(c, "2\r\n{}\r\n0\r\n\r\n")
			}
		}
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
	if counts[http.StatusContinue] != 1 || counts[http.StatusEarlyHints] != 2 || counts[http.StatusOK] != 1 {
		t.Error(counts)
	}
}

// lateLeave is a provider of one request that gives leave to send the body when it has it.
func lateLeave(l net.Listener) error {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return err
	}
	io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	_, err = io.WriteString(c,
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	return err
}
