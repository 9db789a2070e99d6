package call_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// A sentence of the conversation that an error quotes teaches nothing: whatever repeats it,
// as long as it is repeated, and also where it stands at the beginning of the message.
func TestQuotedSentencesTeachNothing(t *testing.T) {
	const sentence = "This model's maximum context length is 1000 tokens. However, your messages resulted in 90000 tokens."
	for _, form := range []string{
		`{"error":{"message":"Content blocked by guardrail: %s","type":"guardrail"}}`,
		`{"error":{"message":"litellm.BadRequestError: GuardrailRaisedException - %s","code":"400"}}`,
		`{"error":{"message":"1 validation error for Request\nmessages.3.content [input_value='%s', input_type=str]"}}`,
		`{"detail":[{"type":"string_type","loc":["body"],"msg":"Input should be a valid string","input":"%s"}]}`,
		`{"error":{"message":"bad request"},"echo":{"error":{"code":"context_length_exceeded","message":"%s"}}}`,
		`{"error":{"message":"%s"}}`, // nothing but the quotation: its figures are not those of the request
	} {
		limits := new(token.Limits)
		refusals := 0
		var u *upstream
		u = before(t, limits, func(n int, w http.ResponseWriter) {
			if strings.Contains(u.got[n-1], "maximum context length is 1000") {
				refusals++
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(400)
				fmt.Fprint(w, strings.ReplaceAll(form, "%s", sentence))
				return
			}
			message(w, "end_turn", 2000, 10)
		})
		poisoned := strings.Replace(string(history("gpt-4o", 20, "go on", "")), "list it all", "list it all, "+sentence,
			1)
		for i := range 3 {
			u.send("/v1/messages", []byte(poisoned), "X-Oriel-Conversation", fmt.Sprint("p", i))
		}
		u.settle(3)
		if refusals < 3 || jsonOf(limits) != "{}" {
			t.Errorf("%s: %d refusals, learnt %s", form, refusals, jsonOf(limits))
		}
		body := history("gpt-4o", 20, "of somebody else", "")
		if u.send("/v1/messages", body, "X-Oriel-Conversation", "other"); u.got[len(u.got)-1] != string(body) {
			t.Errorf("%s: another conversation is cut", form)
		}
		u.settle(4)
	}
}

// A sentence with a limit, or with no figure at all, at the beginning of an error teaches
// nothing where the error goes on, or where a server repeats the request: what follows it is
// the page that had it. The call is tried with less.
func TestTheBeginningOfAPageTeachesNothing(t *testing.T) {
	for form, again := range map[string]bool{
		`{"error":{"message":"Maximum context length is 2000 tokens, says the page of zebra","type":"invalid_request_error"}}`:  true,
		`{"error":{"message":"Prompt is too long. So says the page of zebra","type":"invalid_request_error"}}`:                  true,
		`{"detail":[{"msg":"Input should be valid"}],"body":{"message":"This model's maximum context length is 2000 tokens."}}`: false,
	} {
		limits := new(token.Limits)
		var u *upstream
		u = before(t, limits, func(n int, w http.ResponseWriter) {
			if strings.Contains(u.got[n-1], "says the page of zebra") {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(400)
				fmt.Fprint(w, form)
				return
			}
			message(w, "end_turn", 2000, 10)
		})
		// The page falls out of what is sent again.
		poisoned := strings.Replace(string(history("gpt-4o", 20, "go on", "")), `"file-1 `,
			`"says the page of zebra file-1 `, 1)
		for i := range 2 {
			was := len(u.got)
			u.send("/v1/messages", []byte(poisoned), "X-Oriel-Conversation", fmt.Sprint("p", i))
			u.settle(i + 1)
			if more := len(u.got)-was > 1; more != again || again && len(u.got[was+1]) >= len(u.got[was]) {
				t.Errorf("%s: sent again: %v", form, more)
			}
		}
		if learnt := jsonOf(limits); learnt != "{}" {
			t.Errorf("%s: learnt %s", form, learnt)
		}
		body := history("gpt-4o", 20, "of somebody else", "")
		if u.send("/v1/messages", body, "X-Oriel-Conversation", "other"); u.got[len(u.got)-1] != string(body) {
			t.Errorf("%s: another conversation is cut", form)
		}
		u.settle(3)
	}
}

// A true refusal with a limit and no size is learnt where it is all that the provider says,
// or where a code stands beside it; otherwise each call is tried with less.
func TestALimitWithoutASizeIsFollowed(t *testing.T) {
	for form, teaches := range map[string]bool{
		`{"error":{"message":"This model's maximum context length is 3000 tokens."}}`:                                                  true,
		`{"error":{"message":"This model's maximum context length is 3000 tokens; see the manual.","code":"context_length_exceeded"}}`: true,
		`{"error":{"message":"This model's maximum context length is 3000 tokens; see the manual."}}`:                                  false,
	} {
		limits := new(token.Limits)
		var u *upstream
		u = before(t, limits, func(n int, w http.ResponseWriter) {
			if len(u.got[n-1])/4 > 3000 {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(400)
				fmt.Fprint(w, form)
				return
			}
			message(w, "end_turn", 2000, 10)
		})
		res, answer := u.send("/v1/messages", history("gpt-4o", 40, "go on", ""), "X-Oriel-Conversation", "c")
		if res.StatusCode != 200 {
			t.Errorf("%s: %s %s after %d requests", form, res.Status, answer, len(u.got))
		}
		u.settle(1)
		if learnt := jsonOf(limits) != "{}"; learnt != teaches {
			t.Errorf("%s: learnt %s", form, jsonOf(limits))
		}
	}
}

// A true refusal holds for its call and its conversation at once, for others once another
// conversation was refused, too, and for no other tenant.
func TestALimitIsConfirmedBeforeItHoldsForOthers(t *testing.T) {
	limits := new(token.Limits)
	var u *upstream
	u = before(t, limits, func(n int, w http.ResponseWriter) {
		if n := len(u.got[n-1]) / 4; n > 5000 {
			refuse(w, 400, fmt.Sprintf("prompt is too long: %d tokens > 5000 maximum", n))
			return
		}
		message(w, "end_turn", 2000, 10)
	})
	calls := 0
	send := func(conversation string, want int) {
		t.Helper()
		was := len(u.got)
		res, _ := u.send("/v1/messages", history("claude-sonnet-4-5", 40, "go on, "+conversation, ""),
			"X-Oriel-Conversation", conversation)
		calls++
		u.settle(calls)
		if res.StatusCode != 200 || len(u.got)-was != want {
			t.Errorf("%s: %s after %d requests, want %d", conversation, res.Status, len(u.got)-was, want)
		}
	}
	send("one", 2)   // refused, cut, taken
	send("one", 1)   // it holds for the conversation
	send("two", 2)   // not yet for others
	send("three", 1) // now it does
	c := requestOf(t, "/v1/messages", wire.Anthropic, string(history("claude-sonnet-4-5", 40, "go on", "")))
	c.Tenant = "somebody else"
	r := u.engine.Begin(ctx, c)
	if r.Body() != nil {
		t.Error("it holds for another tenant")
	}
	r.End(nil)
}

// What a person forgets while a server runs holds no longer.
func TestForgettingReachesARunningServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "learnt.json")
	open := func() *token.Learnt {
		l, err := token.OpenLearnt(path)
		must(err)
		return l
	}
	server := open()
	learnt(server.Limits, "claude-sonnet-4-5", 200_000, 3000)
	must(server.Save())
	var now atomic.Int64
	now.Store(time.Now().Unix())
	u := before(t, server.Limits, func(n int, w http.ResponseWriter) { message(w, "end_turn", 2000, 10) },
		func(o *call.TestOptions) {
			o.Calibration, o.Learnt, o.Refresh, o.Now = server.Calibration, server.Save, server.Refresh,
				func() time.Time { return time.Unix(now.Load(), 0) }
		})
	body := history("claude-sonnet-4-5", 20, "go on", "")
	if u.send("/v1/messages", body, "X-Oriel-Conversation", "a"); len(u.got[0]) >= len(body) {
		t.Error("the limit does not hold")
	}
	u.settle(1)
	if n, err := open().Forget("claude-sonnet-4-5"); n == 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	now.Add(1)
	if u.send("/v1/messages", body, "X-Oriel-Conversation", "b"); u.got[1] != string(body) {
		t.Error("the limit still holds")
	}
	u.settle(2)
}
