package proxy_test

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/proxy"
)

// Oriel's own token goes to no provider, wherever a client puts it.
func TestTheTokenIsNeverForwarded(t *testing.T) {
	const token = "tok/canary+1"
	seen := 0
	s := start(t, proxy.Options{Tokens: map[string]string{token: "ann"}}, func(w http.ResponseWriter, r *http.Request) {
		seen++
		for name, values := range r.Header {
			if strings.Contains(strings.ToLower(name), "oriel") || strings.Contains(strings.Join(values, " "), token) {
				t.Errorf("the provider has %s: %s", name, values)
			}
		}
	})
	once := url.QueryEscape(token)
	twice := url.QueryEscape(once)
	for _, query := range []string{"token=" + once, "a=b&x=" + twice, once, "x=Bearer%20" + once,
		url.QueryEscape(twice)} {
		if res, body := s.post("/v1/messages?"+query, "{}", "X-Oriel-Token", token); res.StatusCode != 400 ||
			!strings.Contains(body, "X-Oriel-Token") || strings.Contains(body, token) {
			t.Errorf("%s: %s %s", query, res.Status, body)
		}
	}
	for _, h := range [][2]string{
		{"Authorization", "Bearer " + token}, {"X-Api-Key", token}, {"Cookie", "a=b; token=" + token},
		{"X-Forwarded-Token", token}, {"X-Other", "token:" + once}, {"X-Other", twice},
		{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+token))},
	} {
		if res, body := s.post("/v1/messages", "{}", "X-Oriel-Token", token, h[0], h[1]); res.StatusCode != 400 ||
			!strings.Contains(body, "X-Oriel-Token") || strings.Contains(body, token) {
			t.Errorf("%s: %s %s", h, res.Status, body)
		}
	}
	for _, path := range []string{"/v1/" + url.PathEscape(token) + "/messages",
		"/v1/" + url.PathEscape(url.PathEscape(token)) + "/messages"} {
		if res, body := s.post(path, "{}", "X-Oriel-Token", token); res.StatusCode != 400 {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	if seen != 0 {
		t.Errorf("%d requests with the token went to the provider", seen)
	}
	for _, name := range []string{"X_Oriel_Token", "x_oriel-token", "X-Oriel_Token"} {
		if res, body := s.post("/v1/messages", "{}", "X-Oriel-Token", token, name, token); res.StatusCode != 200 {
			t.Errorf("%s: %s %s", name, res.Status, body)
		}
	}
	if seen != 3 {
		t.Errorf("%d requests without it went to the provider", seen)
	}
}

// A server that breaks the protocol with the key in its answer does not bring it into the
// log.
func TestAKeyInABrokenAnswerIsNotLogged(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 4096))
			io.WriteString(c, "Bearer "+canary+" is no good\r\n\r\n")
			c.Close()
		}
	}()
	s := start(t, proxy.Options{OpenAI: "http://" + l.Addr().String() + "/v1"}, nil)
	s.post("/v1/chat/completions", "{}", "Authorization", "Bearer "+canary)
	s.post("/v1/chat/completions?key="+canary, "{}")
	s.finish()
	if text := s.log.String(); strings.Contains(text, canary) || !strings.Contains(text, "not kept") {
		t.Errorf("%s", text)
	}
}
