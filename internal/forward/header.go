package forward

import (
	"net/http"
	"slices"
	"strings"
)

// ownPrefix is the prefix of Oriel's own headers, which are never forwarded.
const ownPrefix = "X-Oriel-"

// DropOwn removes Oriel's own headers, including spellings with underscores, which
// CGI-like servers treat as equal.
func DropOwn(h http.Header) {
	for k := range h {
		if len(k) >= len(ownPrefix) && strings.EqualFold(strings.ReplaceAll(k[:len(ownPrefix)], "_", "-"), ownPrefix) {
			delete(h, k)
		}
	}
}

// betaHeader is where Anthropic's clients name the beta features that they use.
const betaHeader = "Anthropic-Beta"

// SetBeta has a header name the beta feature that the body needs beside those of the client.
func (x *Exchange) SetBeta(h http.Header) {
	beta := ""
	if x.guard != nil {
		beta = x.guard.beta()
	}
	if beta == "" && !x.betaSet {
		return
	}
	features := slices.Clone(x.In.Header[betaHeader])
	if x.betaSet = beta != ""; x.betaSet && !strings.Contains(strings.Join(features, ","), beta) {
		features = []string{strings.Join(append(features, beta), ",")}
	}
	if len(features) == 0 {
		delete(h, betaHeader)
		return
	}
	h[betaHeader] = features
}

// answered gives the engine the answer's status and header, and the answer Oriel's own headers.
func (x *Exchange) answered(res *http.Response) {
	DropOwn(res.Header) // only Oriel may set Oriel's headers
	DropOwn(res.Trailer)
	x.reply.body, x.reply.trailer = res.Body, &res.Trailer
	defer x.crew.Rest() // only the guard is needed from here on
	if x.action == "" || res.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	// An abandoned call may still read the provider's map.
	h := make(http.Header, len(res.Header)+8)
	for name, values := range res.Header {
		h[name] = values
	}
	if x.guard != nil && !x.guard.header(h, res.StatusCode, res.Header) {
		x.action = "error"
	}
	if x.guard == nil || x.action == "error" || len(h["X-Oriel-Action"]) == 0 {
		h["X-Oriel-Action"] = []string{x.action}
	}
	res.Header = h
}

// Header adds Oriel's headers to an answer that the caller gives in place of the provider's.
func (x *Exchange) Header(h http.Header) {
	if x.guard != nil {
		x.guard.header(h, 0, nil)
	}
}
