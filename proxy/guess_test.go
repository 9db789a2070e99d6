package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/proxy"
)

func TestShortTokensAreRefusedBeyondLoopback(t *testing.T) {
	for listen, least := range map[string]int{"127.0.0.1:0": 1, "0.0.0.0:0": 16} {
		for n := 1; n <= 17; n++ {
			_, err := proxy.New(proxy.Options{Listen: listen, Tokens: map[string]string{strings.Repeat("x", n): "a"}})
			if (err == nil) != (n >= least) {
				t.Errorf("%s, %d characters: %v", listen, n, err)
			}
			if err != nil && !strings.Contains(err.Error(), "openssl rand -hex 16") {
				t.Errorf("does not say how to make one: %v", err)
			}
		}
	}
}

// Wrong tokens are answered late, and only so many at a time for an address: beyond that
// none is compared, however many connections there are. Others are served.
func TestGuessesAreSlowed(t *testing.T) {
	const token = "the-right-token-0"
	s := start(t, proxy.Options{Tokens: map[string]string{token: "a"}}, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "answer") })
	proxy.HoldGuessesForTest(s.server, time.Hour)
	wrong := fmt.Sprintf("GET /k/%s/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "the-wrong-token-0")
	right := strings.Replace(wrong, "wrong", "right", 1)
	var held []net.Conn
	for range 16 {
		held = append(held, s.raw(wrong))
	}
	status := func(c net.Conn) (int, string) {
		t.Helper()
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Retry-After")
	}
	for { // until all sixteen are there
		if code, after := status(s.raw(right)); code == 429 && after == "1" {
			break
		} else if code != 200 {
			t.Fatal(code)
		}
	}
	if runtime.GOOS == "linux" { // all of 127.0.0.0/8 is this machine
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		c, err := d.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, right)
		if code, _ := status(c); code != 200 {
			t.Errorf("another address: %d", code)
		}
	}
	for _, c := range held {
		c.Close()
	}
	for { // who leaves is not held
		if code, _ := status(s.raw(right)); code == 200 {
			break
		} else if code != 429 {
			t.Fatal(code)
		}
	}
}

// A token in the wrong place is told only to those who have one in the right place: the
// answer finds no token.
func TestNoPathFindsAToken(t *testing.T) {
	const token = "the-right-token-0"
	s := start(t, proxy.Options{Tokens: map[string]string{token: "a"}}, func(http.ResponseWriter, *http.Request) { t.Error("went upstream") })
	for _, path := range []string{"/v1/" + token, "/v1/the-wrong-token-0"} {
		if res, body := s.do(s.request("GET", path, "")); res.StatusCode != 401 || !strings.Contains(body, "token_missing") {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	if strings.Contains(s.log.String(), token) {
		t.Error("the log has the token")
	}
}

// The connection of a request with Transfer-Encoding ends with its answer: it may have had
// a Content-Length, too (RFC 9112, 6.1). An obsolete line folding is one space (5.2).
func TestAConnectionWithTwoLengthsIsClosed(t *testing.T) {
	var folded string
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		folded = r.Header.Get("X-Folded")
		w.WriteHeader(http.StatusProcessing)
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	})
	const chunked = "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	for name, tc := range map[string]struct {
		request string
		closed  bool
	}{
		"both":            {"Content-Length: 6\r\n" + chunked, true},
		"both, call":      {"Content-Length: 6\r\n" + chunked, true},
		"chunked":         {chunked, true},
		"a length":        {"Content-Length: 2\r\n\r\n{}", false},
		"HTTP/1.0, both":  {"Connection: keep-alive\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", true},
		"HTTP/1.0":        {"Connection: keep-alive\r\nContent-Length: 2\r\n\r\n{}", true},
		"a folded header": {"X-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\n{}", false},
	} {
		path := "/v1/files"
		if strings.Contains(name, "call") {
			path = "/v1/chat/completions"
		}
		protocol := "HTTP/1.1"
		if strings.HasPrefix(name, "HTTP/1.0") {
			protocol = "HTTP/1.0"
		}
		c := s.raw("POST " + path + " " + protocol + "\r\nHost: localhost\r\n" + tc.request)
		in := bufio.NewReader(c)
		for {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(name, err)
			}
			if res.StatusCode == http.StatusProcessing {
				continue
			}
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != 200 || string(body) != "{}" || res.Close != tc.closed {
				t.Fatalf("%s: %d %q, closed %v, %v", name, res.StatusCode, body, res.Close, err)
			}
			break
		}
		if tc.closed {
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("%s: the connection is open: %v", name, err)
			}
		}
		if strings.Contains(name, "folded") && folded != "a b" {
			t.Errorf("%q", folded)
		}
	}
}
