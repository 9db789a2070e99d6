//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// topCalls is how many calls serveCut makes: enough for one cut.
const topCalls = 11

// serveCut starts a server and has a conversation that is cut.
func serveCut(t *testing.T, args ...string) (*served, *topClient) {
	t.Helper()
	provider := httptest.NewServer(&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: "Well.", Input: 2000, Output: 5}
	}})
	t.Cleanup(provider.Close)
	s := startServe(t, append([]string{"--data", t.TempDir(), "--upstream-anthropic", provider.URL}, args...)...)
	base := strings.TrimSuffix(s.anthropic, "/k/$ORIEL_TOKEN")
	client, err := newTopClient(base+"/oriel/", "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range topCalls {
		s.talk(t, base, i)
	}
	client.await(t, func(o *topOverview) bool { return len(o.Live) == topCalls })
	return s, client
}

// talk sends the next call of a conversation.
func (s *served) talk(t *testing.T, base string, i int) {
	t.Helper()
	history := `{"role":"user","content":"Mend the harbour clock \u001b[2J"}`
	for k := range i {
		history += fmt.Sprintf(`,{"role":"assistant","content":"Well."},{"role":"user","content":"Step %d. %s"}`, k,
			strings.Repeat("tide ", 500))
	}
	body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + history + `]}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Oriel-Budget", "4000")
	r.Header.Set("X-Oriel-Conversation", "clock")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.Status, err)
	}
}

// await waits until the overview is as a test wants it.
func (c *topClient) await(t *testing.T, good func(*topOverview) bool) {
	t.Helper()
	for {
		var o topOverview
		if err := c.ask(t.Context(), http.MethodGet, "overview", nil, &o); err != nil {
			t.Fatal(err)
		}
		if good(&o) {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// press handles keys and all that follows from them.
func (m *topModel) press(ctx context.Context, c *topClient, keys ...string) {
	for _, k := range keys {
		for job := m.key(k); job != nil; {
			job = job(ctx, c)(m)
		}
	}
}

// A person chooses a call and a message, pins it, and undoes a plan, on a real server.
func TestTopPinsAndUndoes(t *testing.T) {
	s, client := serveCut(t)
	defer s.end(t)
	ctx := t.Context()
	m := newTopModel(client.base, 80, 24, term.Style{})
	m.press(ctx, client, "r")
	if len(m.calls) != topCalls || m.strip == nil || m.strip.Count != 2*topCalls || m.message == nil ||
		m.message.ID != m.strip.Upto {
		t.Fatalf("%d calls, %+v, %+v", len(m.calls), m.strip, m.message)
	}
	m.press(ctx, client, "[")
	if m.message.Verdict == "" {
		t.Fatalf("%+v was not left out", m.message)
	}
	pinned := m.cursor
	m.press(ctx, client, "p")
	if !slices.Contains(m.strip.Pinned, pinned) || !m.message.Pinned || !strings.Contains(m.note, "is pinned") {
		t.Errorf("%v, %+v, %q", m.strip.Pinned, m.message, m.note)
	}
	m.press(ctx, client, "p")
	if len(m.strip.Pinned) > 0 || m.message.Pinned {
		t.Errorf("still pinned: %v, %q", m.strip.Pinned, m.note)
	}
	m.press(ctx, client, "u")
	if m.asking == nil || m.asking.Back == "" || !strings.Contains(m.view()[23], "come back") {
		t.Fatalf("%+v, %q", m.asking, m.note)
	}
	m.press(ctx, client, "n")
	if m.asking != nil || len(m.strip.Held) > 0 {
		t.Error("no was not no")
	}
	m.press(ctx, client, "u", "y")
	if len(m.strip.Held) == 0 || !strings.Contains(m.note, "is undone") {
		t.Errorf("%v, %q", m.strip.Held, m.note)
	}
	m.press(ctx, client, "down", "down", "home", "end", "left", "pgup", "pgdown", "]", "?")
	if !m.help || m.follows {
		t.Error("no help, or the list follows the newest call")
	}
	m.press(ctx, client, "x", "/", "z", "z", "z")
	if len(m.calls) > 0 || m.strip != nil || !strings.Contains(strings.Join(m.view(), "\n"), `no call has "zzz"`) {
		t.Errorf("%d calls", len(m.calls))
	}
	m.press(ctx, client, "backspace", "backspace", "backspace", "S", "o", "n", "enter")
	if len(m.calls) != topCalls || m.filtering || m.quit {
		t.Errorf("%d calls with %q", len(m.calls), m.filter)
	}
	m.press(ctx, client, "q")
	if !m.quit {
		t.Error("q did not quit")
	}
}

// Scripts get the screen once, or JSON, with a token where the server has tokens.
func TestTopOnce(t *testing.T) {
	t.Setenv("ORIEL_TOKEN", "a-token-of-our-own")
	provider := httptest.NewServer(
		&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
			return fakemodel.Answer{Text: "Well.",
				Input: 1}
		}})
	defer provider.Close()
	s := startServe(t, "--data", t.TempDir(), "--upstream-anthropic", provider.URL)
	defer s.end(t)
	base := strings.TrimSuffix(s.anthropic, "/k/$ORIEL_TOKEN")
	s.talk(t, base+"/k/a-token-of-our-own", 1)
	client, _ := newTopClient(base, "a-token-of-our-own")
	client.await(t, func(o *topOverview) bool { return len(o.Live) == 1 })
	top := func(args ...string) (string, string, int) {
		var out, errOut bytes.Buffer
		code := run(append([]string{"top", "--url", base}, args...), strings.NewReader(""), &out, &errOut)
		return out.String(), errOut.String(), code
	}
	if out, errOut, code := top("--once"); code != 0 || !strings.Contains(out, "1 call today") ||
		!strings.Contains(out, "Mend the harbour clock") || strings.Contains(out, "\x1b") {
		t.Errorf("%d\n%s%s", code, out, errOut)
	}
	out, errOut, code := top("--json")
	var all struct {
		Overview topOverview
		Strip    topStrip
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 || len(all.Overview.Live) != 1 ||
		all.Strip.Count != 4 {
		t.Errorf("%d, %v: %s%s", code, err, out, errOut)
	}
	if _, errOut, code := top(); code != 2 || !strings.Contains(errOut, "--once") {
		t.Errorf("%d: %s", code, errOut)
	}
	if _, errOut, code := top("--once", "--token", "wrong"); code != 1 || !strings.Contains(errOut, "token") {
		t.Errorf("%d: %s", code, errOut)
	}
}

func TestTopNamesAServerThatIsNotThere(t *testing.T) {
	for _, c := range []struct {
		url  string
		code int
		want string
	}{
		{"http://127.0.0.1:1", 1, "is oriel serve running there?"},
		{"127.0.0.1:8780", 2, "give the address that oriel serve prints"},
	} {
		var out, errOut bytes.Buffer
		if code := run([]string{"top", "--once", "--url", c.url}, strings.NewReader(""), &out,
			&errOut); code != c.code || !strings.Contains(errOut.String(), c.want) {
			t.Errorf("%s: %d, %s", c.url, code, &errOut)
		}
	}
}

func TestAddressesOfServers(t *testing.T) {
	for given, want := range map[string]string{
		"http://127.0.0.1:8780": "http://127.0.0.1:8780 ", "http://127.0.0.1:8780/": "http://127.0.0.1:8780 ",
		"http://h:1/oriel/": "http://h:1 ",
		"http://h:1/k/abc":  "http://h:1 abc", "https://h/k/abc/oriel/": "https://h abc",
		"http://h:1/oriel/#token=abc": "http://h:1 abc",
		"http://h:1/?token=abc":       "http://h:1 abc", "http://h:1/oriel/?token=a%2Bc": "http://h:1 a+c",
		"http://h:1/k/abc/oriel/?token=": "http://h:1 abc", "https://h/behind/oriel": "https://h/behind ",
	} {
		c, err := newTopClient(given, "")
		if err != nil || c.base+" "+c.token != want {
			t.Errorf("%s: %+v, %v", given, c, err)
		}
	}
	if a, b, c := dialed("0.0.0.0:8780"), dialed("[::]:1"), dialed("127.0.0.1:2"); a != "127.0.0.1:8780" ||
		b != "127.0.0.1:1" || c != "127.0.0.1:2" {
		t.Error(a, b, c)
	}
}

// Every screen fits its terminal, whatever the texts are, and contains no control
// character of theirs.
func TestTopFitsTheTerminal(t *testing.T) {
	hostile := "\x1b[2J\x07\u202e日本語 " + strings.Repeat("wide 漢字 ", 60)
	strip := &topStrip{Conversation: "c", Call: 3, Calls: 4, Count: 30_000, Upto: 29_990, TokensBefore: 1 << 20,
		TokensAfter: 9000,
		Budget:      10_000, Plan: "p3", Kinds: strings.Repeat("uatc", 7500),
		Verdicts: []topVerdict{{1, 20_000, "fold"}, {20_001, 20_100, "mask"}, {-4, 1 << 40, "odd"}},
		Pinned:   []int{3, -1, 1 << 40}}
	for i := range 29_000 {
		strip.Tokens = append(strip.Tokens, i)
	}
	for _, styled := range []bool{false, true} {
		for _, at := range [][2]int{{80, 24}, {120, 40}, {56, 10}, {57, 11}, {55, 30}, {200, 60}, {79, 13}, {10, 3}} {
			m := newTopModel("http://"+hostile, at[0], at[1], term.Style{On: styled})
			check := func(what string) {
				t.Helper()
				lines := m.view()
				if len(lines) > m.height {
					t.Errorf("%s at %v: %d lines", what, at, len(lines))
				}
				for _, line := range lines {
					plain := strings.NewReplacer("\x1b[0m", "").Replace(line)
					for strings.Contains(plain, "\x1b[") {
						before, rest, _ := strings.Cut(plain, "\x1b[")
						_, after, _ := strings.Cut(rest, "m")
						plain = before + after
					}
					if term.Cells(plain) > m.width || strings.ContainsAny(plain, "\x1b\x07\u202e\t\n") {
						t.Errorf("%s at %v: %d columns in %q", what, at, term.Cells(plain), plain)
					}
				}
			}
			m.gone = hostile
			check("nothing")
			m.overview = &topOverview{Version: hostile, Profile: hostile}
			check("no calls")
			for i := range 20 {
				m.overview.Live = append(m.overview.Live, topCall{ID: fmt.Sprint(i), Conversation: hostile,
					Title: hostile, Model: hostile, Plan: hostile, TokensBefore: 1 << 30, TokensAfter: 1 << 20,
					Cost: 12345.678,
					MS:   1e7})
			}
			m.overview.Live[3].Error = hostile
			m.overview.Unread = make([]topUnread, 3)
			for i := range m.overview.Unread {
				m.overview.Unread[i] = topUnread{hostile, hostile, hostile, 1 << 30}
			}
			m.list()
			m.strip, m.cursor = strip, 1
			m.message = &topMessage{ID: 1, By: hostile, Tokens: 1 << 20, Verdict: "mask", Reason: hostile, Pinned: true}
			m.message.Parts = append(m.message.Parts, struct{ Kind, Text, Name, Media string }{Kind: "call",
				Name: hostile, Text: hostile})
			check("calls")
			m.selected, m.cursor, m.gone, m.note = "19", 30_000, "", hostile
			check("the last ones")
			m.note, m.filter, m.filtering = "", hostile, true
			check("a filter")
			m.filtering, m.asking = false, &topUndo{Plan: hostile, Back: hostile, Leaves: hostile}
			check("a question")
			m.help = true
			check("help")
		}
	}
}

// On a terminal of 80 columns the list shows by which plan a call was sent, and the help is whole.
func TestTopAtEightyColumns(t *testing.T) {
	m := newTopModel("http://127.0.0.1:8780", 80, 24, term.Style{})
	m.overview = &topOverview{Live: []topCall{{
		ID: "1", Conversation: "c", Title: "A long title of a conversation that is cut", Model: "claude-sonnet-4-5",
		TokensBefore: 66_100, TokensAfter: 15_500, Plan: "p13", Cost: 0.06,
	}}}
	m.list()
	if text := strings.Join(m.view(), "\n"); !strings.Contains(text, "15.5k p13 ") {
		t.Error(text)
	}
	m.help = true
	if text := strings.Join(m.view(), "\n"); strings.Contains(text, "…") {
		t.Error(text)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("\x1b[A\x1b[")
	f.Fuzz(func(t *testing.T, text string) {
		m := newTopModel("http://h", 80, 24, term.Style{})
		m.overview, m.strip, m.cursor = &topOverview{Live: []topCall{{ID: "1"}, {ID: "2"}}},
			&topStrip{Count: 9, Upto: 8, Verdicts: []topVerdict{{2, 5, "fold"}}}, 3
		m.list()
		term.ReadKeys(strings.NewReader(text), func(k string) bool {
			m.key(k)
			m.view()
			return true
		})
	})
}

func TestTopShowsCallsThatRun(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 41, 7, 0, time.UTC)
	for _, width := range []int{80, 120} {
		m := newTopModel("http://127.0.0.1:8780", width, 24, term.Style{})
		m.now = func() time.Time { return now.Add(2 * time.Second) }
		m.overview = &topOverview{got: now,
			Running: []topCall{{ID: "a", Model: "claude-sonnet-4-5", Time: now.Add(-4 * time.Second), MS: 4000,
				TokensBefore: 130_000, TokensAfter: 48_000}}}
		m.list()
		screen := strings.Join(m.view(), "\n")
		for _, want := range []string{"12:41", "a new conversation", "130k", "48.0k", "run 6s"} {
			if !strings.Contains(screen, want) {
				t.Errorf("%d columns have no %q:\n%s", width, want, screen)
			}
		}
		if m.filter = "harbour"; strings.Contains(strings.Join(m.view(), "\n"), "run 6s") {
			t.Error("a filter does not hold for a call that runs")
		}
	}
}
