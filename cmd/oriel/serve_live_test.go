//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// A change of the file holds from the next call on; a stream that runs comes to its end
// as it began, and a file that cannot be used changes nothing.
func TestServeTakesChangesOfItsFile(t *testing.T) {
	defer func(was time.Duration) { watchEvery = was }(watchEvery)
	watchEvery = time.Millisecond

	goOn := make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	var second atomic.Int64
	answer := fakemodel.Answer{Text: strings.Repeat("word by word ", 40), Input: 10, Output: 2}
	slow := answer
	slow.Each = func(n int) {
		if n == 2 {
			<-goOn
		}
	}
	up := httptest.NewServer(&fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		if strings.Contains(string(r.Data()), "slowly") {
			return slow
		}
		return answer
	}})
	defer up.Close()
	other := httptest.NewServer(&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
		second.Add(1)
		return answer
	}})
	defer other.Close()

	path := filepath.Join(t.TempDir(), "config.toml")
	write := func(text string) {
		t.Helper()
		// In one step: at this pace the server would also see it empty.
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600),
			os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf("profile = 'off'\n[upstream]\nopenai = '%s/v1'\n", up.URL))
	s := startServe(t, "--config", path, "--data", t.TempDir(), "--upstream-anthropic", up.URL)
	post := func(body string) *http.Response {
		t.Helper()
		res, err := http.Post(s.openAI+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	var list []string
	for i := range 40 {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"%d %s"}`, i,
			strings.Repeat("lies east of the pier ", 100)), `{"role":"assistant","content":"Noted."}`)
	}
	long := `{"model":"gpt-4o","messages":[` + strings.Join(list, ",") + `,{"role":"user","content":"And now?"}]}`
	action := func() string {
		t.Helper()
		res := post(long)
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
			t.Fatal(res.Status, string(body), err)
		}
		return res.Header.Get("X-Oriel-Action")
	}
	logged := func(what string) {
		t.Helper()
		for !strings.Contains(s.errors.String(), what) {
			health(t, s)
		}
	}
	if got := action(); got != "none" {
		t.Fatalf("with the profile off: %s", got)
	}

	stream := post(`{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"slowly"}]}`)
	defer stream.Body.Close()
	defer release() // or a failure would wait for it
	lines := bufio.NewReader(stream.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	write(fmt.Sprintf("profile = 'full'\n[upstream]\nopenai = '%s/v1'\n[models.gpt-4o]\nwindow = 20_000\n", other.URL))
	logged(`msg="settings changed" keys="profile, upstream.openai, models"`)
	if got := action(); got == "none" || got == "error" || second.Load() != 1 {
		t.Errorf("after the change: %s, %d calls to the other upstream", got, second.Load())
	}

	write("profle = 'off'\n")
	logged("there is no key profle: did you mean profile?")
	if got := action(); got == "none" || second.Load() != 2 {
		t.Errorf("after a change that cannot be used: %s", got)
	}
	write(fmt.Sprintf("profile = 'off'\nlisten = '127.0.0.1:1'\n[thresholds]\nchat = 2\n[upstream]\nopenai = '%s/v1'\n",
		other.URL))
	logged(`msg="settings changed" keys="profile, models"`) // the flag --listen goes before the file
	logged("thresholds.chat: 2% is outside 5…100: 100% is used")
	if got := action(); got != "none" {
		t.Errorf("after the profile was set to off: %s", got)
	}
	write(fmt.Sprintf("sync = 'full'\nprofile = 'off'\n[upstream]\nopenai = '%s'\n", s.openAI))
	logged("is this proxy itself")
	write(fmt.Sprintf("sync = 'full'\nprofile = 'off'\n[upstream]\nopenai = '%s/v1'\n", other.URL))
	logged(`msg="settings changed that need a restart" keys=sync`)

	release()
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(rest)), "data: [DONE]") ||
		strings.Count(string(rest), "word") < 40 {
		t.Errorf("the stream: %v, %d bytes", err, len(rest))
	}
	stream.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	s.end(t)
}

// A file that loses what protects, or everything, as by a crash while it is saved, changes
// nothing until the server is started again; health says so.
func TestServeHoldsBackSettingsThatLoseWhatProtects(t *testing.T) {
	defer func(was time.Duration) { watchEvery = was }(watchEvery)
	watchEvery = time.Millisecond
	up := httptest.NewServer(
		&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
			return fakemodel.Answer{Text: "Noted."}
		}})
	defer up.Close()
	const token = "a-token-of-this-test"
	whole := fmt.Sprintf("token = '%s'\nprofile = 'thrifty'\n[upstream]\nopenai = '%s/v1'\nanthropic = '%[2]s'\n",
		token, up.URL)
	path := filepath.Join(t.TempDir(), "config.toml")
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600),
			os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	write(whole)
	s := startServe(t, "--config", path, "--data", t.TempDir())
	base := strings.TrimSuffix(s.anthropic, "/k/$ORIEL_TOKEN")
	ask := func(path, token string) (int, string) {
		t.Helper()
		r, err := http.NewRequest("POST", base+path,
			strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`))
		if strings.HasPrefix(path, "/oriel/") {
			r, err = http.NewRequest("GET", base+path, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Oriel-Token", token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	const all = "token, profile, upstream.openai, upstream.anthropic: put back"
	for text, lost := range map[string]string{
		"":             all,
		"# nothing\n":  all,
		"[upstream]\n": all,
		whole[:strings.Index(whole, "[upstream]")]: "upstream.openai, upstream.anthropic: put back",
		whole[:strings.Index(whole, "anthropic")]:  "upstream.anthropic: put back",
		whole[strings.Index(whole, "profile"):]:    "token: put back",
		strings.Replace(whole, token, "", 1):       "token: put back",
		strings.Replace(whole, token, "   ", 1):    "token: put back",
	} {
		before := strings.Count(s.errors.String(), "level=ERROR")
		write(text)
		for health := ""; !strings.Contains(health, "settings_held"); {
			_, health = ask("/oriel/healthz", token)
		}
		if _, health := ask("/oriel/healthz", token); !strings.Contains(health, `"status":"degraded"`) ||
			!strings.Contains(health, path+": no longer set: "+lost) {
			t.Errorf("%q: %s", text, health)
		}
		if _, health := ask("/oriel/healthz", ""); strings.Contains(health, "upstream") ||
			!strings.Contains(health, "degraded") {
			t.Errorf("without a token: %s", health)
		}
		if code, body := ask("/v1/chat/completions", ""); code != 401 {
			t.Errorf("%q: without a token: %d %s", text, code, body)
		}
		if code, body := ask("/v1/chat/completions", token); code != 200 {
			t.Errorf("%q: %d %s", text, code, body)
		}
		write(whole)
		for health := "settings_held"; strings.Contains(health, "settings_held"); {
			_, health = ask("/oriel/healthz", token)
		}
		told := func() int { return strings.Count(s.errors.String(), "level=ERROR") - before }
		for end := time.Now().Add(time.Minute); told() == 0 && time.Now().Before(end); {
			ask("/oriel/healthz", token) // the log is written behind the scenes
		}
		if told() != 1 {
			t.Errorf("%q: told %d times", text, told())
		}
	}
	http.DefaultClient.CloseIdleConnections()
	s.end(t)
}
