package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// The token is for the server that was named: a redirect is not followed.
func TestTopHandsItsTokenToNobodyElse(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	named := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer named.Close()
	c, err := newTopClient(named.URL, "a-token-of-some-length")
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := c.ask(t.Context(), http.MethodGet, "health", nil, &out); err == nil || asked {
		t.Errorf("%v; the other server was asked: %v", err, asked)
	}
}
