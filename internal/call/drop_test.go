package call_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

const (
	dropBlock = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
	dropBeta  = "thinking-binding-controls-2026-08-01"
)

// Behind a cut, a model that binds its thinking is asked to drop what lost its place and not to
// refuse it, with the beta feature that the field needs beside the client's own. What is
// recorded of the call has what was sent. A history that is sent whole, other models and
// requests with a choice of their own are not touched.
func TestThinkingThatLostItsPlaceIsToBeDropped(t *testing.T) {
	for name, c := range map[string]struct {
		model, more, beta string
		budget            string
		want              bool
	}{
		"cut":           {"claude-fable-5-2", `,"max_tokens":1000,"thinking":{"type":"adaptive"}`, "", "3000", true},
		"no thinking":   {"claude-fable-5-2", `,"max_tokens":1000`, "context-1m-2025-08-07", "3000", true},
		"whole":         {"claude-fable-5-2", `,"max_tokens":1000`, "", "", false},
		"another model": {"claude-sonnet-4-5", `,"max_tokens":1000`, "", "3000", false},
		"own choice": {"claude-fable-5-2",
			`,"max_tokens":1000,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}}`,
			dropBeta, "3000", false},
	} {
		u := before(t, new(token.Limits), func(n int, w http.ResponseWriter) { message(w, "end_turn", 2000, 10) })
		header := []string{"X-Oriel-Conversation", "c"}
		if c.budget != "" {
			header = append(header, "X-Oriel-Budget", c.budget)
		}
		if c.beta != "" {
			header = append(header, "Anthropic-Beta", c.beta)
		}
		body := history(c.model, 20, "go on", c.more)
		u.send("/v1/messages", body, header...)
		u.settle(1)
		sent, beta := u.got[0], strings.Join(u.heads[0].Values("Anthropic-Beta"), ",")
		if (c.budget == "") != (len(sent) == len(body)) {
			t.Fatalf("%s: %d of %d bytes are sent: the test shows nothing", name, len(sent), len(body))
		}
		want := []string{}
		if c.beta != "" {
			want = append(want, c.beta)
		}
		if c.want {
			want = append(want, dropBeta)
		}
		if strings.Contains(sent, dropBlock) != c.want || beta != strings.Join(want, ",") {
			t.Errorf("%s: beta %q, sent %.300s", name, beta, sent)
		}
		if p := strict.Anthropic([]byte(sent)); len(p) > 0 {
			t.Errorf("%s: %v", name, p)
		}
		records, err := u.store.Records(ctx, timeline.Local, "c", "call", "")
		if err != nil || len(records) != 1 {
			t.Fatalf("%s: %d records, %v", name, len(records), err)
		}
		if _, kept, err := call.ReadSent(ctx, u.store, timeline.Local, "c", &records[0],
			call.SentOptions{}); err != nil || string(kept) != sent {
			t.Errorf("%s: recorded %.300s, %v", name, kept, err)
		}
	}
}

// A provider that does not know the field, or the feature, gets the request without it, and so do
// later calls.
func TestAProviderThatCannotDropThinkingIsNotAskedAgain(t *testing.T) {
	for _, refusal := range []string{
		"thinking.adaptive.block_binding: Extra inputs are not permitted",
		"Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header",
	} {
		u := before(t, new(token.Limits), func(n int, w http.ResponseWriter) {
			if n == 1 {
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"`+refusal+`"}}`)
				return
			}
			message(w, "end_turn", 2000, 10)
		})
		header := []string{"X-Oriel-Conversation", "c", "X-Oriel-Budget", "3000", "Anthropic-Beta", "own"}
		for _, newest := range []string{"go on", "and now?"} {
			if res, answer := u.send("/v1/messages", history("claude-fable-5-2", 20, newest, `,"max_tokens":1000`),
				header...); res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", res.Status, answer)
			}
		}
		u.settle(2)
		asked := []bool{}
		for i, sent := range u.got {
			asked = append(asked, strings.Contains(sent, dropBlock))
			if beta := strings.Join(u.heads[i].Values("Anthropic-Beta"), ","); (beta != "own") != asked[i] {
				t.Errorf("request %d: beta %q", i, beta)
			}
		}
		if !slices.Equal(asked, []bool{true, false, false}) {
			t.Errorf("%s: asked %v", refusal, asked)
		}
	}
}

// A feature that a client asks for and its provider refuses is nobody else's matter: other calls
// still ask to drop what lost its place.
func TestARefusedFeatureOfAClientIsNotThatOfOthers(t *testing.T) {
	u := before(t, new(token.Limits), func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":`+
				`"Unexpected value(s) 'thinking-binding-controls-1999-01-01' for the 'anthropic-beta' header"}}`)
			return
		}
		message(w, "end_turn", 2000, 10)
	})
	header := []string{"X-Oriel-Conversation", "c", "X-Oriel-Budget", "3000"}
	u.send("/v1/messages", history("claude-fable-5-2", 20, "go on", `,"max_tokens":1000`),
		append(header, "Anthropic-Beta", "thinking-binding-controls-1999-01-01")...)
	u.settle(1)
	u.send("/v1/messages", history("claude-fable-5-2", 20, "and now?", `,"max_tokens":1000`), header...)
	u.settle(2)
	if len(u.got) != 2 || !strings.Contains(u.got[1], dropBlock) {
		t.Errorf("%d requests; the last one does not ask: %.200s", len(u.got), u.got[len(u.got)-1])
	}
}
