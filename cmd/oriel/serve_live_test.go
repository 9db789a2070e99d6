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

	"github.com/oriel-context/oriel/internal/fakemodel"
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
		// In one step: at this pace the server would also see it empty, which is valid.
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf("profile = 'off'\n[upstream]\nopenai = '%s/v1'\n", up.URL))
	s := serve(t, "--config", path, "--data", t.TempDir(), "--upstream-anthropic", up.URL)
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
		list = append(list, fmt.Sprintf(`{"role":"user","content":"%d %s"}`, i, strings.Repeat("lies east of the pier ", 100)), `{"role":"assistant","content":"Noted."}`)
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
	write(fmt.Sprintf("profile = 'off'\nlisten = '127.0.0.1:1'\n[thresholds]\nchat = 2\n[upstream]\nopenai = '%s/v1'\n", other.URL))
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
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(rest)), "data: [DONE]") || strings.Count(string(rest), "word") < 40 {
		t.Errorf("the stream: %v, %d bytes", err, len(rest))
	}
	stream.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	s.end(t)
}
