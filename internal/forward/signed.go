package forward

import (
	"net/http"
	"net/url"
	"strings"
)

// PassedSigned is why a call passes whose client signed its body, as the SDKs of AWS do: a changed
// body would be refused.
const PassedSigned = "its body is signed for AWS, which accepts no change; use a Bedrock API key to have it read"

// Signed reports whether a request is signed for AWS, in its headers or in its query.
func Signed(r *http.Request) bool {
	for _, v := range r.Header["Authorization"] {
		if strings.HasPrefix(strings.TrimSpace(v), "AWS4-") {
			return true
		}
	}
	return hasParameter(r.URL.RawQuery, "X-Amz-Signature")
}

// hasParameter reports whether a query has a parameter, however its name is written.
func hasParameter(query, name string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(key); err == nil && strings.EqualFold(plain, name) {
			return true
		}
	}
	return false
}
