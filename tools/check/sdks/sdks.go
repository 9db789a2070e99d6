// Package sdks runs programs that use the vendors' own packages, for Python
// and for Node, once directly against a model (package fakemodel) and once
// through oriel serve. They must get the same, and the history must have one
// conversation for each of their chats.
//
//	./scripts/check sdks [PROGRAM…]
//
// A program is a command line in one argument; without any, those in
// scripts/sdks run. Its last argument is the model's address, and it writes
// lines of JSON:
//
//	{"check":"py openai: chat","result":…}     what it got
//	{"chat":"py openai chat","messages":4}     a chat and the length of its history; 0: not stored
//
// A chat's name is in its first message, in brackets. A check may have several
// lines. Packages are installed in $SDKS_DIR (default: a folder under the
// temporary one) and stay there.
package sdks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/tools/check/kit"
)

// Check runs the programs.
func Check(args []string) error {
	programs := kit.Parse(kit.Flags("sdks"), args)
	if len(programs) == 0 {
		s, err := kit.InstallSDKs("oriel-check-sdks", "openai[realtime]", "anthropic")
		if err != nil {
			return err
		}
		clients, err := filepath.Abs(filepath.Join(kit.Source(), "scripts", "sdks"))
		if err != nil {
			return err
		}
		programs = []string{s.Python() + " -B " + filepath.Join(clients, "clients.py"),
			"node " + filepath.Join(clients, "clients.mjs") + " " + s.Node()}
	}
	dir, err := os.MkdirTemp("", "check-sdks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	oriel, err := kit.BuildOriel(dir)
	if err != nil {
		return err
	}
	bad, err := run(oriel, programs)
	if err != nil {
		return fmt.Errorf("%w: %w", kit.ErrFailed, err)
	}
	if bad > 0 {
		fmt.Printf("%d checks failed\n", bad)
	}
	return kit.Failed(bad)
}

// line is one line of a program's output.
type line struct {
	Check    string          `json:"check"`
	Result   json.RawMessage `json:"result"`
	Chat     string          `json:"chat"`
	Messages int64           `json:"messages"`
}

func run(oriel string, programs []string) (bad int, err error) {
	model := &fakemodel.Server{Answer: answer}
	up := httptest.NewServer(model)
	defer up.Close()
	dir, err := os.MkdirTemp("", "check-sdks")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	base, stop, err := serve(oriel, dir, up.URL)
	if err != nil {
		return 0, err
	}
	defer stop()
	table := func(what, result string) {
		if result != "passed" {
			bad++
		}
		fmt.Printf("| %s | %s |\n", what, result)
	}
	fmt.Printf("| check | result |\n|---|---|\n")
	chats := map[string]int64{}
	for _, p := range programs {
		direct, err := lines(p, up.URL)
		if err != nil {
			return 0, err
		}
		through, err := lines(p, base)
		if err != nil {
			return 0, err
		}
		if len(direct) != len(through) {
			return 0, fmt.Errorf("%s: %d results, %d through the proxy", p, len(direct), len(through))
		}
		var names []string
		results := map[string]string{}
		for i, want := range direct {
			if want.Check == "" {
				chats[want.Chat] = want.Messages
				continue
			}
			if results[want.Check] == "" {
				names = append(names, want.Check)
				results[want.Check] = "passed"
			}
			if got := through[i]; got.Check != want.Check || !bytes.Equal(got.Result, want.Result) {
				results[want.Check] = fmt.Sprintf("FAILED: %s is %s %s through the proxy", want.Result, got.Check,
					got.Result)
			}
		}
		for _, name := range names {
			table(name, results[name])
		}
	}
	if err := stop(); err != nil {
		return 0, err
	}
	for _, p := range model.Problems() {
		table("requests keep the vendors' rules", "FAILED: "+p)
	}
	return bad, history(dir, chats, table)
}

// answer returns the model's answer: what the last message asks for, or else a
// summary of the request.
func answer(r *fakemodel.Request) fakemodel.Answer {
	a := fakemodel.Answer{ID: fmt.Sprintf("reply_%d", len(r.Messages)), Input: 100, CacheRead: 20, Output: 30}
	body, tools := "", false
	for _, m := range r.Members() {
		switch m.Name {
		case "tools":
			tools = true
		case "thinking", "reasoning":
			a.Thinking = "Let me look at this from all sides – 考える."
		}
	}
	last := string(r.Messages[len(r.Messages)-1].Raw)
	for i := range r.Messages {
		body += string(r.Messages[i].Raw)
	}
	first := r.Header.Get("X-Stainless-Retry-Count") == "0"
	switch {
	case strings.Contains(last, "please fail with 400"):
		return fakemodel.Answer{Status: 400, Error: "that is no good"}
	case strings.Contains(last, "please fail with 401"):
		return fakemodel.Answer{Status: 401, Error: "who are you"}
	case strings.Contains(last, "please fail with 429"):
		return fakemodel.Answer{Status: 429, Error: "slow down"}
	case strings.Contains(last, "please fail with 500"):
		return fakemodel.Answer{Status: 500, Error: "it is on our side"}
	case strings.Contains(last, "please fail at first") && first:
		return fakemodel.Answer{Status: 503, Error: "try again"}
	case tools && !strings.Contains(body, "call_a"):
		a.Text = "I will look in both places."
		a.Calls = []fakemodel.Call{{ID: "call_a", Name: "weather", Arguments: `{"city":"Köln","days":1}`},
			{ID: "call_b", Name: "weather", Arguments: `{"city":"Tōkyō","days":2}`}}
	default:
		a.Text = fmt.Sprintf("This is answer %d, with \"quotes\", a line\nfeed, an emoji 🙂 and <b>marks</b> & more.",
			len(r.Messages))
	}
	return a
}

// lines runs a program and returns its output.
func lines(program, base string) ([]line, error) {
	words := append(strings.Fields(program), base)
	var out, errs bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", program, base, err, errs.Bytes())
	}
	var all []line
	in := bufio.NewScanner(&out)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: %w in %q", program, err, in.Text())
		}
		all = append(all, l)
	}
	return all, in.Err()
}

// serve starts oriel and waits until it listens. stop ends it gracefully.
func serve(oriel, dir, upstream string) (base string, stop func() error, err error) {
	cmd := exec.Command(oriel, "serve", "--listen", "127.0.0.1:0", "--data", dir, "--upstream-openai", upstream+"/v1",
		"--upstream-anthropic", upstream)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	ended := false
	stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("oriel serve: %w", err)
		}
		said, err := os.ReadFile(log.Name())
		if bytes.Contains(said, []byte("level=ERROR")) {
			err = errors.Join(err, fmt.Errorf("oriel serve says %s", said))
		}
		return err
	}
	in := bufio.NewReader(out)
	said, err := in.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(said), "oriel listens at ")
	if err != nil || !ok {
		return "", nil, errors.Join(err, stop(), fmt.Errorf("oriel serve says %q", said))
	}
	base = "http://" + address
	for end := time.Now().Add(10 * time.Second); ; {
		res, err := http.Get(base + "/oriel/healthz")
		if err == nil {
			res.Body.Close()
			return base, stop, nil
		}
		if time.Now().After(end) {
			return "", nil, errors.Join(err, stop())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// history checks that there is one conversation of the right length for each
// chat.
func history(dir string, chats map[string]int64, table func(what, result string)) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	all, err := store.Conversations(ctx, timeline.Local)
	if err != nil {
		return err
	}
	found := map[string][]int64{}
	for _, c := range all {
		heads, err := store.Heads(ctx, timeline.Local, c.Name)
		if err != nil {
			return err
		}
		name := "?"
		err = store.Messages(ctx, timeline.Local, c.Head, 1, 1, false, func(e *timeline.Entry) error {
			for chat := range chats {
				if strings.Contains(string(e.Raw), "["+chat+"]") {
					name = chat
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, h := range heads {
			found[name] = append(found[name], h.Depth)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(chats)) {
		depth := chats[name]
		result := "passed"
		want := []int64{depth}
		if depth == 0 {
			want = nil
		}
		if got := found[name]; !slices.Equal(got, want) {
			result = fmt.Sprintf("FAILED: its branches have %v messages, not %v", got, want)
		}
		table("history of "+name, result)
		delete(found, name)
	}
	for name, depths := range found {
		table("history", fmt.Sprintf("FAILED: %q is no chat of ours: %v", name, depths))
	}
	return nil
}
