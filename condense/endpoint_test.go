package condense_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/token"
)

// The usage of a summary has the service tier, which has a price of its own.
func TestAnEndpointReportsTheServiceTier(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"choices":[{"index":0,"finish_reason":"stop",`+
			`"message":{"role":"assistant","content":"The tide."}}],"usage":{"prompt_tokens":100,"completion_tokens":10},"service_tier":"flex"}`)
	}))
	defer server.Close()
	e, err := condense.NewEndpoint(server.URL, "gpt-6.1-terra", "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	reply, err := e.Call(t.Context(), condense.Request{System: "s", Prompt: "p", MaxTokens: 50})
	if want := (token.Usage{Input: 100, Output: 10, Service: "flex"}); err != nil || reply.Usage != want {
		t.Errorf("%+v, %v, want %+v", reply.Usage, err, want)
	}
}
