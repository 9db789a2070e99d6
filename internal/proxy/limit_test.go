package proxy

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// A request counts against the limit unless every server reads its path as one that counts
// tokens: some servers end a path at a # or decode it before they look for a ?.
func TestOnlyCountsOfTokensAreFree(t *testing.T) {
	for target, free := range map[string]bool{
		"/v1/messages/count_tokens":                                         true,
		"/v1/messages/count_tokens?beta=true":                               true,
		"/messages/count_tokens":                                            true,
		"/p/off/v1/messages/count_tokens":                                   true,
		"/v1/responses/input_tokens":                                        true,
		"/openai/v1/responses/input_tokens":                                 true,
		"/api.vendor/v1/messages/count_tokens":                              true,
		"/v1/chat/completions#/v1/messages/count_tokens":                    false,
		"/p/off/v1/chat/completions#/v1/messages/count_tokens":              false,
		"/v1/chat/completions%23/v1/messages/count_tokens":                  false,
		"/v1/chat/completions%3F/v1/messages/count_tokens":                  false,
		"/v1/chat/completions%00/v1/messages/count_tokens":                  false,
		"/v1/chat/completions;/v1/messages/count_tokens":                    false,
		"/v1/chat/completions\\/v1/messages/count_tokens":                   false,
		"/v1/chat/completions/v1/messages/count_tokens":                     false,
		"/v1/responses/v1/responses/input_tokens":                           false,
		"/v1/chat/completions//v1/messages/count_tokens":                    false,
		"/v1/messages/count_tokens/../../messages/v1/messages/count_tokens": false,
	} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("POST " + target +
			" HTTP/1.1\r\nHost: x\r\n\r\n")))
		if err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		if x := (&exchange{r: r, route: readRoute(r)}); x.costs() == free {
			t.Errorf("%s: free is %v, want %v", target, !free, free)
		}
	}
}
