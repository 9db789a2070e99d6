package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/oriel-context/oriel/tools/browser/drive"
	"github.com/oriel-context/oriel/tools/browser/sample"
)

// What all tests share: a program that serves a history, a provider, a browser.
var (
	server  *drive.Server
	program string
	model   *sample.Model
	browser context.Context
	folder  string // for files of a run
)

func TestMain(m *testing.M) {
	if say := os.Getenv("ORIEL_BROWSER_SAYS"); say != "" { // as an agent that oriel run starts
		if err := oneCall(say); err != nil {
			fmt.Fprintln(os.Stderr, "browser:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "browser:", err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	if folder, err = os.MkdirTemp("", "browser"); err != nil {
		return fail(err)
	}
	defer os.RemoveAll(folder)
	tab, end, err := drive.Browser(ctx, folder)
	if errors.Is(err, drive.ErrNoBrowser) {
		fmt.Println("!! SKIPPED: the console in a browser, for want of chromium")
		return 0
	} else if err != nil {
		return fail(err)
	}
	defer end()
	browser = tab
	if program, err = drive.Program(folder); err != nil {
		return fail(err)
	}
	model = sample.NewModel()
	defer model.Close()
	server, err = drive.Serve(ctx, program, filepath.Join(folder, "data"), model.URL, environment()...)
	if err != nil {
		return fail(err)
	}
	defer server.Stop()
	return m.Run()
}

// environment keeps the user's settings out of the tests.
func environment(more ...string) []string {
	home := filepath.Join(folder, "home")
	return append([]string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "ORIEL_CONFIG=", "ORIEL_PROFILE=",
		"ORIEL_TOKEN="}, more...)
}

// tab is a tab of the browser that remembers what went wrong in it.
type tab struct {
	*testing.T
	ctx context.Context
	// server is whose console is open, refuses and missing whether it may answer with 401
	// and with 404.
	server           *drive.Server
	refuses, missing bool

	mu     sync.Mutex // protects what follows
	faults []string
}

// limit is how long anything may take: a busy machine passes, too.
const limit = time.Minute

// open opens a tab at a state of the console. Errors, violations of the content security
// policy and requests to other origins fail the test at its end.
func open(t *testing.T, state string) *tab {
	t.Helper()
	return openAt(t, server, state)
}

// openAt is open for another server, which may refuse requests.
func openAt(t *testing.T, s *drive.Server, state string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx, server: s, refuses: s != server}
	b.do(chromedp.Func(b.watch))
	b.size(1280)
	b.visit(state)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range b.faults {
			t.Error(f)
		}
	})
	return b
}

func (b *tab) fault(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// watch collects faults for as long as the tab is open.
func (b *tab) watch(_ context.Context, t *chromedp.Target) error {
	ctx := b.ctx
	exceptions, entries := cdp.Events(ctx, t, runtime.ExceptionThrown), cdp.Events(ctx, t, log.EntryAdded)
	calls, requests := cdp.Events(ctx, t, runtime.ConsoleAPICalled), cdp.Events(ctx, t, network.RequestWillBeSent)
	go func() {
		for e, err := range exceptions {
			if err == nil {
				why := e.ExceptionDetails.Text
				if x := e.ExceptionDetails.Exception; x != nil {
					why += " " + x.Description
				}
				b.fault("exception: %s", why)
			}
		}
	}()
	go func() {
		for e, err := range entries {
			if err == nil && (e.Entry.Level == "error" || strings.Contains(e.Entry.Text, "Content Security Policy")) &&
				!b.expected(e.Entry.Text) {
				b.fault("the browser's log: %s %s", e.Entry.Text, e.Entry.URL)
			}
		}
	}()
	go func() {
		for e, err := range calls {
			if err == nil && (e.Type == "error" || e.Type == "warning" || e.Type == "assert") {
				b.fault("console.%s: %s", e.Type, describe(e.Args))
			}
		}
	}()
	go func() {
		for e, err := range requests {
			if err == nil && !strings.HasPrefix(e.Request.URL, b.server.URL+"/oriel/") {
				b.fault("a request left the origin: %s", e.Request.URL)
			}
		}
	}()
	_, err := cdp.Call(b.ctx, t, network.Enable, network.EnableParams{})
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		if err == nil {
			_, err = cdp.Call(b.ctx, t, enable, cdp.Empty{})
		}
	}
	return err
}

// expected reports whether an entry of the browser's log is an answer that may come.
func (b *tab) expected(entry string) bool {
	return b.refuses && strings.Contains(entry, "status of 401") ||
		b.missing && strings.Contains(entry, "status of 404")
}

func describe(args []*runtime.RemoteObject) string {
	var out []string
	for _, a := range args {
		out = append(out, strings.TrimSpace(string(a.Value)+" "+a.Description))
	}
	return strings.Join(out, " ")
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// size sets the width of the screen.
func (b *tab) size(width int64) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride,
			emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 860, DeviceScaleFactor: 1,
				Mobile: width < 500})
		return err
	}))
}

// scheme sets the scheme that the page follows.
func (b *tab) scheme(dark bool) {
	b.Helper()
	b.media("", dark)
}

// media sets the medium, such as print, and the scheme that the page follows.
func (b *tab) media(medium string, dark bool) {
	b.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium,
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}})
		return err
	}))
}

// visit opens a state, anew, and waits until it is drawn.
func (b *tab) visit(state string) {
	b.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(b.server.Console+state))
	b.until(`document.documentElement.dataset.ready && !document.querySelector('.loading')`)
}

// left is what the browser says of a question to a page that was left meanwhile.
var left = []string{"Inspected target navigated or closed", "Cannot find context with specified id",
	"Execution context was destroyed"}

// until waits until an expression is true, also of the page that comes after this one.
func (b *tab) until(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	err := errors.New(left[0])
	for err != nil && slices.ContainsFunc(left, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		err = chromedp.Do(ctx, chromedp.Poll[chromedp.Void]("!!("+expression+")",
			chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(limit)))
	}
	if err != nil {
		text, _ := chromedp.Run(b.ctx,
			chromedp.Evaluate[string](`location.href + '\n' + document.body.innerText.slice(0, 3000)`))
		b.Fatalf("waiting for %s: %v\nthe page says:\n%s", expression, err, text)
	}
}

// eval evaluates an expression.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// click clicks on what is there or will be.
func (b *tab) click(selector string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	for {
		b.until(fmt.Sprintf("document.querySelector(%q)?.checkVisibility()", selector))
		err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector)))
		if err == nil {
			return
		}
		if !slices.ContainsFunc(redrawn, func(text string) bool { return strings.Contains(err.Error(), text) }) {
			b.Fatal(err)
		}
	}
}

// redrawn is what the browser says of an element that the page has drawn anew since it was
// found.
var redrawn = []string{"Could not find node with given id", "Node is detached from document",
	"Could not compute content quads", "Node does not have a layout object"}

// text returns the text of what is there or will be.
func (b *tab) text(selector string) string {
	b.Helper()
	b.until(fmt.Sprintf("document.querySelector(%q)", selector))
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// api reads a route.
func api(t testing.TB, path string, into any) {
	t.Helper()
	res, err := http.Get(server.URL + "/oriel/api/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// strip is what became of messages at the newest call.
type strip struct {
	Call, Count int
	Plan        string
	Verdicts    [][]any
	Pinned      []int
}

// verdict returns the verdict on a message.
func (s *strip) verdict(id int) string {
	for _, v := range s.Verdicts {
		if int(v[0].(float64)) <= id && id <= int(v[1].(float64)) {
			return v[2].(string)
		}
	}
	return "keep"
}

// stripAt waits until a conversation has so many calls, and returns its strip: calls are
// recorded after their answers.
func stripAt(t testing.TB, conversation string, calls int) *strip {
	t.Helper()
	for end := time.Now().Add(limit); ; {
		var s strip
		res, err := http.Get(server.URL + "/oriel/api/conversations/" + url.PathEscape(conversation) + "/strip")
		if err == nil && res.StatusCode == http.StatusOK {
			err = json.NewDecoder(res.Body).Decode(&s)
		}
		if err == nil {
			res.Body.Close()
		}
		if err == nil && s.Call >= calls {
			return &s
		}
		if time.Now().After(end) {
			t.Fatalf("%s has %d calls, not %d (%v)", conversation, s.Call, calls, err)
		}
	}
}

// sessions counts sessions, so that a test that runs again has conversations of its own.
var sessions atomic.Int32

// newSession returns a session of an agent through the server.
func newSession(t *testing.T, budget int) *sample.Session {
	name := fmt.Sprintf("%s-%d", strings.ToLower(t.Name()), sessions.Add(1))
	return &sample.Session{Client: http.DefaultClient, Base: server.URL, Model: model, Name: "claude-sonnet-4-5",
		ID: name, Budget: budget, Folder: "/home/ann/src/" + name}
}
