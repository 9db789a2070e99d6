package browser

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/oriel-context/oriel/tools/browser/drive"
	"github.com/oriel-context/oriel/tools/browser/sample"
)

// oneCall is an agent that says one thing to the server of its environment.
func oneCall(say string) error {
	m := sample.NewModel() // which is not asked
	defer m.Close()
	s := &sample.Session{Client: &http.Client{}, Base: os.Getenv("ANTHROPIC_BASE_URL"), Model: m,
		Name: "claude-sonnet-4-5"}
	s.User(say)
	return s.Say(context.Background(), "Well.")
}

// newServer starts a server on a history of its own.
func newServer(t *testing.T, provider string) (s *drive.Server, data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	s, err := drive.Serve(t.Context(), program, data, provider, environment()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s, data
}

// What another process records in the history appears in a page that is open, also in one that
// showed how to send the first call.
func TestCallsOfAnotherProcessAppear(t *testing.T) {
	s, data := newServer(t, model.URL)
	b := openAt(t, s, "")
	b.until(`document.querySelector('.lesson')?.innerText.includes('No call has come through yet') && document.querySelector('#live')?.innerText === 'live'`)
	say := func(text string) {
		t.Helper()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, "run", "--data", data, "--upstream-anthropic", model.URL, "--",
			self)
		cmd.Env = append(os.Environ(), environment("ORIEL_BROWSER_SAYS="+text)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	say("Is the harbour open?")
	b.until(`[...document.querySelectorAll('.feed li')].some((r) => r.innerText.includes('Is the harbour open?'))`)
	b.until(`[...document.querySelectorAll('.stat')].some((s) => s.innerText.startsWith('Calls today\n1'))`)
	b.visit("#/conversations")
	say("When does the lock close?")
	b.until(`[...document.querySelectorAll('.conversations .row')].some((r) => r.innerText.includes('When does the lock close?'))`)
}

// A call is on the overview while it runs, and what it failed with is on the page of its
// conversation.
func TestCallsAreShownWhileTheyRunAndWhenTheyFail(t *testing.T) {
	came, answer := make(chan struct{}), make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "Refuse this."):
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "17")
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w,
				`{"type":"error","error":{"type":"rate_limit_error","message":"too many tokens a minute"}}`)
			return
		case strings.Contains(string(body), "Take your time."):
			came <- struct{}{}
			<-answer
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		model.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(provider.Close)
	s, _ := newServer(t, provider.URL)
	b := openAt(t, s, "")
	b.until(`document.querySelector('#live')?.innerText === 'live'`)
	a := &agent{&sample.Session{Client: &http.Client{}, Base: s.URL, Model: model, Name: "claude-sonnet-4-5",
		ID: "slow"}, t}
	a.User("Take your time.")
	said := make(chan error)
	go func() { said <- a.Say(context.Background(), "Here it is.") }()
	<-came
	b.until(`document.querySelector('.feed .runs')?.innerText.includes('running')`)
	answer <- struct{}{}
	a.must(<-said)
	b.until(`!document.querySelector('.feed .runs') && document.querySelector('.feed li')?.innerText.includes('Take your time.')`)

	refused := &agent{&sample.Session{Client: &http.Client{}, Base: s.URL, Model: model, Name: "claude-sonnet-4-5",
		ID: "refused"}, t}
	refused.User("Refuse this.")
	if err := refused.Say(t.Context(), "No."); err == nil {
		t.Fatal("the provider did not refuse")
	}
	b.until(`document.querySelector('.feed li .wrong')?.innerText.includes('status 429: rate_limit_error')`)
	b.click(".feed li .line a")
	b.until(`document.querySelector('#failure')?.innerText === 'This call failed: status 429: rate_limit_error: too many tokens a minute · Retry-After: 17 s'`)
	b.accessible("a call that failed")
	b.visit("#/conversation/slow")
	if eval[bool](b, `!!document.querySelector('#failure')`) {
		t.Error("a call that was answered is shown as failed")
	}
	b.missing = true
	b.visit("#/conversation/nope")
	b.until(`document.querySelector('.problem')?.innerText.includes('the page Conversations has all')`)
	if text := b.text(".problem"); strings.Contains(text, "GET") {
		t.Error(text)
	}
}

// slash presses the key /. Its character is part of the key, as on a keyboard, so that a page
// can keep it back.
func slash(ctx context.Context, t *chromedp.Target) error {
	_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kb.KeyDown, Key: "/",
		Code: "Slash", Text: "/"})
	return err
}

// The key / puts the cursor into a box of search, from any page, and nothing that is typed
// next is lost; the page Recall begins in its box.
func TestTheKeyOfSearchLeadsIntoTheBox(t *testing.T) {
	a := &agent{newSession(t, 0), t}
	a.User("Where is the slipway?")
	a.must(a.Say(t.Context(), "Behind the crane."))
	stripAt(t, a.ID, 1)
	b := open(t, "")
	for _, page := range []string{"", "#/usage", "#/window", "#/conversation/" + a.ID, "#/conversations"} {
		b.visit(page)
		b.do(chromedp.Func(slash), chromedp.KeyEvent("slipway"))
		b.until(`location.hash === '#/conversations?search=slipway' && document.activeElement.type === 'search' && document.activeElement.value === 'slipway'`)
	}
	b.visit("#/recall")
	b.do(chromedp.KeyEvent("slipway"))
	b.until(`document.activeElement.type === 'search' && document.activeElement.value === 'slipway'`)

	// In the list of messages the arrows work in both directions.
	b.visit("#/conversation/" + a.ID)
	b.click(".messages .row")
	b.until(`document.querySelector('#desk h2')?.innerText.startsWith('Message')`)
	b.do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft))
	b.until(`document.querySelector('#desk h2')?.innerText === 'Message 1'`)
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.until(`document.querySelector('#desk h2')?.innerText === 'Message 2'`)
}
