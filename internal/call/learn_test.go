package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, text)
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	must(err)
	return string(text)
}

// learnt has a limit that two conversations found.
func learnt(l *token.Limits, model string, window, tokens int) {
	for _, conversation := range []string{"one of before", "another of before"} {
		l.Learn(token.Asked{Tenant: timeline.Local, Conversation: conversation, Model: model, Window: window}, tokens,
			false, time.Now())
	}
}

// SPEC E4; a refusal teaches something only where less was then taken, and where it is
// about tokens. What was sent smaller in vain leaves nothing behind.
func TestRefusalsThatTeachNothing(t *testing.T) {
	const reply = `,"max_tokens":%d`
	for _, c := range []struct {
		name    string
		model   string
		turns   int
		reply   int
		calls   int
		refusal func(n int, w http.ResponseWriter) bool
		asked   int // in all
	}{
		{"the reply has no room", "my-llama", 1, 8192, 1, func(n int, w http.ResponseWriter) bool {
			refuse(w, 400, "This model's maximum context length is 8192 tokens. However, you requested 8377 tokens (185 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.")
			return true
		}, 1},
		{"the reply has hardly any room", "claude-sonnet-4-5", 1, 199_990, 1, func(n int, w http.ResponseWriter) bool {
			refuse(w, 400, "input length and `max_tokens` exceed context limit: 1081 + 199990 > 200000, decrease input length or `max_tokens` and try again")
			return true
		}, 1},
		{"bytes", "claude-sonnet-4-5", 20, 1000, 1, func(n int, w http.ResponseWriter) bool {
			if n == 1 {
				refuse(w, 413, "Request exceeds the maximum size")
			}
			return n == 1
		}, 2},
		{"always", "gpt-4o", 20, 1000, 15, func(n int, w http.ResponseWriter) bool {
			refuse(w, 400, "the prompt is too long")
			return true
		}, 45},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits := new(token.Limits)
			refusing := true
			u := before(t, limits, func(n int, w http.ResponseWriter) {
				if !refusing || !c.refusal(n, w) {
					message(w, "end_turn", 2000, 10)
				}
			})
			body := history(c.model, c.turns, "go on", fmt.Sprintf(reply, c.reply))
			for n := range c.calls {
				u.send("/v1/messages", body, "X-Oriel-Conversation", "c")
				u.settle(n + 1) // what was in vain is forgotten when a call ends
			}
			if len(u.got) != c.asked || jsonOf(limits) != "{}" {
				t.Errorf("%d requests, learnt %s", len(u.got), jsonOf(limits))
			}
			for _, e := range u.told(oriel.EventOverflow) {
				if !strings.Contains(e.Error, "refused") {
					t.Errorf("told %+v", e)
				}
			}
			refusing = false
			if c.name == "bytes" {
				return // what was taken holds
			}
			res, _ := u.send("/v1/messages", body, "X-Oriel-Conversation", "c")
			u.settle(c.calls + 1)
			if u.got[len(u.got)-1] != string(body) || res.Header.Get("X-Oriel-Action") != "none" ||
				res.Header.Get("X-Oriel-Plan") != "" {
				t.Errorf("after it: %v", res.Header)
			}
			if all, err := u.store.Records(ctx, timeline.Local, "c", "plan", ""); err != nil || len(all) > 0 {
				t.Errorf("%d plans are stored, %v", len(all), err)
			}
		})
	}
}

// A provider that names a figure is believed, however small that is.
func TestAFigureIsBelieved(t *testing.T) {
	limits := new(token.Limits)
	u := before(t, limits, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(400)
			io.WriteString(w,
				`{"error":{"code":400,"message":"request (40402 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":40402,"n_ctx":4096}}`)
			return
		}
		message(w, "end_turn", 2000, 10)
	})
	res, _ := u.send("/v1/messages", history("my-llama", 120, "go on", ""))
	u.settle(1)
	if res.StatusCode != 200 || len(u.got) != 2 || len(u.got[1]) > len(u.got[0])/6 {
		t.Errorf("%s, %d requests", res.Status, len(u.got))
	}
	if !strings.Contains(jsonOf(limits), `"tokens":3686`) {
		t.Errorf("learnt %s", jsonOf(limits))
	}
}

// SPEC E4; a limit that the prompt alone exceeds, as its provider counts, is one for the
// prompt, even if Oriel counted fewer tokens than that: later prompts need not be smaller by
// the reply that they ask for.
func TestALimitOfThePromptAloneIsNotReducedByTheReply(t *testing.T) {
	const limit = 10_000
	limits := new(token.Limits)
	u := before(t, limits, func(n int, w http.ResponseWriter) {
		if n == 1 {
			refuse(w, 400, fmt.Sprintf("prompt is too long: %d tokens > %d maximum", limit+12, limit))
			return
		}
		message(w, "end_turn", limit*3/4, 10)
	})
	const reply = `,"max_tokens":32000`
	for i, newest := range []string{"go on", "and now?"} {
		res, _ := u.send("/v1/messages", history("claude-sonnet-4-5", 26, newest, reply), "X-Oriel-Conversation", "c")
		u.settle(i + 1)
		after, err := strconv.Atoi(res.Header.Get("X-Oriel-Tokens-After"))
		if before := res.Header.Get("X-Oriel-Tokens-Before"); err != nil || len(before) != 4 || after < limit/4 {
			t.Errorf("call %d: %s of %s tokens were sent, of which the model takes %d: %v", i+1,
				res.Header.Get("X-Oriel-Tokens-After"), before, limit, err)
		}
	}
	if all := limits.All(time.Now()); len(all) != 1 || all[0].Reply || all[0].Tokens != limit*9/10 {
		t.Errorf("learnt %+v", all)
	}
}

// Without a figure no less is learnt than a quarter of the window; and a request that is
// taken raises what was learnt.
func TestLimitsAreNotBelievedForEver(t *testing.T) {
	for model, want := range map[string]int{"claude-sonnet-4-5": 8000, "my-own": 1000} {
		limits := new(token.Limits)
		u := before(t, limits, func(n int, w http.ResponseWriter) {
			if n == 1 {
				refuse(w, 400, "the prompt is too long")
				return
			}
			message(w, "end_turn", 2000, 10)
		})
		u.send("/v1/messages", history(model, 2, "go on", ""))
		u.settle(1)
		if text := jsonOf(limits); len(u.got) != 2 || !strings.Contains(text, fmt.Sprintf(`"tokens":%d,`, want)) {
			t.Errorf("%s: learnt %s", model, text)
		}
	}
	limits := new(token.Limits)
	learnt(limits, "claude-sonnet-4-5", 200_000, 1500)
	u := before(t, limits, func(n int, w http.ResponseWriter) { message(w, "end_turn", 2000, 10) })
	body := history("claude-sonnet-4-5", 20, "go on", "")
	if u.send("/v1/messages", body); u.got[0] == string(body) {
		t.Error("the limit does not hold")
	}
	u.send("/v1/messages", body, "X-Oriel-Profile", "off")
	u.settle(2)
	if u.send("/v1/messages", history("claude-sonnet-4-5", 20, "once more", "")); len(u.got[2]) < len(body) {
		t.Errorf("it was taken, and is still too much: %s", jsonOf(limits))
	}
	u.settle(3)
}

// A view that cannot be made is reported, with the tokens of what was sent.
func TestAViewThatCannotBeMadeIsTold(t *testing.T) {
	u := before(t, nil, func(n int, w http.ResponseWriter) { message(w, "end_turn", 2000, 10) })
	body := history("claude-sonnet-4-5", 5, "go on", "")
	res, _ := u.send("/v1/messages", body, "X-Oriel-Budget", "10")
	if h := res.Header; u.got[0] != string(body) || h.Get("X-Oriel-Action") != "error" ||
		h.Get("X-Oriel-Tokens-Before") == "" || h.Get("X-Oriel-Tokens-After") != h.Get("X-Oriel-Tokens-Before") {
		t.Errorf("%v", h)
	}
	u.settle(1)
}

// Who names a budget has a view, also where the profile is off.
func TestABudgetMakesAView(t *testing.T) {
	k := newTalker(start(t, memory.New(), replying), "X-Oriel-Budget", "3000")
	k.untilCut()
	if tokensOf(k.last) > 3000 {
		t.Error("more than was asked for")
	}
}

// What another process has learnt stays in the file, and what a model binds, too.
func TestTwoProcessesLearn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "learnt.json")
	open := func() *token.Learnt {
		l, err := token.OpenLearnt(path)
		must(err)
		return l
	}
	one, two := open(), open()
	now := time.Now()
	asked := func(model, conversation string) token.Asked {
		return token.Asked{Tenant: "ann", Conversation: conversation, Model: model, Window: 1000}
	}
	learn := func(l *token.Learnt, model string, tokens int) {
		l.Limits.Learn(asked(model, "one"), tokens, false, now)
		l.Limits.Learn(asked(model, "two"), tokens, false, now)
	}
	learn(one, "a", 100)
	learn(one, "both", 100)
	one.Calibration.Observe("ann\ta", 1000, 1100)
	must(one.Save())
	learn(two, "b", 200)
	learn(two, "both", 50)
	two.Limits.LearnBinding(asked("b", "one"))
	two.Calibration.Observe("ann\tb", 1000, 1200)
	must(two.Save())
	must(one.Save()) // it has nothing new
	l := open()
	if text := jsonOf(l.Limits); !strings.Contains(text, `"ann\ta 1000":{"tokens":100,`) ||
		!strings.Contains(text, `"ann\tb 1000":{"tokens":200,`) ||
		!strings.Contains(text, `"ann\tboth 1000":{"tokens":50,`) ||
		!strings.Contains(text, `"binds":{"ann\tb":"one"}`) {
		t.Errorf("%s", text)
	}
	if l.Calibration.Scale("ann\ta").N != 1 || l.Calibration.Scale("ann\tb").N != 1 {
		t.Errorf("%s", jsonOf(l.Calibration))
	}
	one.Limits.Took(asked("both", "one"), 150) // here it is newer
	must(one.Save())
	if text := jsonOf(open().Limits); !strings.Contains(text, `"ann\tboth 1000":{"tokens":150,`) {
		t.Errorf("%s", text)
	}

	// What one process forgets, the other knows no more, though it learns on.
	if n, err := open().Forget("both"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	learn(two, "new", 10)
	must(one.Refresh())
	must(two.Refresh())
	for _, l := range []*token.Learnt{one, two, open()} {
		if text := jsonOf(l.Limits); strings.Contains(text, "both") || !strings.Contains(text, "ann\\ta 1000") {
			t.Errorf("%s", text)
		}
	}
	if n, err := open().Forget("no such model"); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := open().Forget("all"); n < 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	must(one.Refresh())
	if text := jsonOf(one.Limits) + jsonOf(one.Calibration); text != "{}{}" {
		t.Errorf("%s", text)
	}
}

// What usage teaches is kept within a minute, once for all that comes until then.
func TestWhatIsLearntIsKeptSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saved atomic.Int64
		r := call.NewForTest(call.TestOptions{Parts: call.Parts{Store: memory.New(),
			Calibration: new(token.Calibration), Learnt: func() error { saved.Add(1); return nil }}})
		teach := func() {
			c := r.Begin(ctx, requestOf(t, "/v1/messages", wire.Anthropic, string(history("m", 20, "go on", ""))))
			c.Response(200, http.Header{"Content-Type": {"application/json"}})
			c.Write([]byte(`{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"well"}],"stop_reason":"end_turn","usage":{"input_tokens":5000,"output_tokens":5}}`))
			c.End(nil)
		}
		for range 3 {
			teach()
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if saved.Load() != 0 {
			t.Errorf("kept %d times within a minute", saved.Load())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if saved.Load() != 1 {
			t.Errorf("kept %d times after a minute", saved.Load())
		}
		time.Sleep(time.Hour)
		teach()
		if err := r.Close(ctx); err != nil || saved.Load() != 2 {
			t.Errorf("kept %d times at the end, %v", saved.Load(), err)
		}
	})
}

// A store that is slow is reported once a minute, not with every call.
func TestASlowStoreIsToldOnce(t *testing.T) {
	store := &faulty{Store: memory.New()}
	now := time.Now()
	k := newTalker(start(t, store, replying, thrifty, func(o *call.TestOptions) {
		o.Now, o.Waits.Store = func() time.Time { return now }, call.DefaultStoreWait
	}))
	k.say()
	fault := func(ctx context.Context, op string) error {
		if by, ok := ctx.Deadline(); ok && time.Until(by) < 2*call.DefaultStoreWait { // a call waits
			return context.DeadlineExceeded
		}
		return nil
	}
	store.fail.Store(&fault)
	defer store.fail.Store(nil)
	for range 5 {
		k.say()
	}
	if e := k.told(oriel.EventOpen); len(e) != 1 {
		t.Errorf("%+v", e)
	}
	now = now.Add(time.Minute)
	k.say()
	k.say()
	if e := k.told(oriel.EventOpen); len(e) != 2 {
		t.Errorf("%+v", e)
	}
}
