package proxy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/proxy"
)

// browse sends a request as a browser would, without following redirects.
func browse(t *testing.T, s *setup, path string, cookies []*http.Cookie, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("GET", s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	resp, err := s.client.Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestABrowserLogsInOnceAndKeepsNoToken(t *testing.T) {
	console := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, proxy.TenantOf(r.Context()))
	})
	tokens := map[string]string{"own-0123456789abc": "ann", "own-0123456789xyz": "ben"}
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Tokens: tokens, Console: console}, nil)
	resp := browse(t, s, "/oriel/?token=own-0123456789xyz&page=recall", nil)
	cookies := resp.Cookies()
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/oriel/?page=recall" || len(cookies) != 1 {
		t.Fatalf("%d to %q with %d cookies", resp.StatusCode, resp.Header.Get("Location"), len(cookies))
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/oriel/" || strings.Contains(c.Value, "own-") || resp.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("cookie %v, Referrer-Policy %q", c, resp.Header.Get("Referrer-Policy"))
	}
	if body, _ := io.ReadAll(browse(t, s, "/oriel/api/x", cookies).Body); string(body) != "ben" {
		t.Errorf("the cookie is of tenant %q", body)
	}
	if resp := browse(t, s, "/oriel/api/x", cookies, "Sec-Fetch-Site", "cross-site"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("another page got %d", resp.StatusCode)
	}
	// The cookie admits to no call, and a forged one to nothing.
	if resp := browse(t, s, "/v1/models", cookies); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a call with the cookie got %d", resp.StatusCode)
	}
	c.Value = strings.Map(func(r rune) rune {
		if r == 'x' {
			return 'y'
		}
		return 'x'
	}, c.Value[:1]) + c.Value[1:]
	if resp := browse(t, s, "/oriel/api/x", cookies); resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a forged cookie got %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	if resp := browse(t, s, "/oriel/?token=wrong-0123456789", nil); resp.StatusCode != http.StatusUnauthorized || len(resp.Cookies()) > 0 {
		t.Errorf("a wrong token got %d and %v", resp.StatusCode, resp.Cookies())
	}
}

func TestStreamsEndWhenTheServerShutsDown(t *testing.T) {
	begun := make(chan struct{})
	console := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
	})
	s := start(t, proxy.Options{Console: console}, nil)
	resp := browse(t, s, "/oriel/api/events", nil)
	<-begun
	s.stop()
	if _, err := io.ReadAll(resp.Body); err != nil && err != context.Canceled {
		t.Errorf("the stream broke: %v", err)
	}
}
