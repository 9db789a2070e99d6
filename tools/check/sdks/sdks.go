// Package sdks runs programs that use the vendors' own packages, for Python
// and for Node, once directly against a model (package fakemodel) and once
// through oriel serve. They must get the same, and the history must have one
// conversation for each of their chats.
//
//	./scripts/check sdks [-only NAME] [PROGRAM…]
//
// A program is a command line in one argument; without any, those in
// scripts/sdks run, with -only those of them with NAME in the name of the file.
// Its last argument is the model's address, and it writes lines of JSON:
//
//	{"check":"py openai: chat","result":…}     what it got
//	{"chat":"py openai chat","messages":4}     a chat and the length of its history; 0: not stored
//	{…,"branches":2}                           its conversation has so many, the longest of this length
//
// A chat's name is in its first message, in brackets. A check may have several
// lines. The model behind Oriel has limits that the other one does not have: see
// limited. Packages are installed in $SDKS_DIR (default: a folder under the
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
	flags := kit.Flags("sdks")
	only := flags.String("only", "", "run the programs of scripts/sdks with this `name` in the name of their file")
	programs := kit.Parse(flags, args)
	if len(programs) == 0 {
		s, err := kit.InstallSDKs("oriel-check-sdks", "openai[realtime]", "anthropic", "google-genai", "ollama",
			"boto3")
		if err != nil {
			return err
		}
		clients, err := filepath.Abs(filepath.Join(kit.Source(), "scripts", "sdks"))
		if err != nil {
			return err
		}
		for _, name := range []string{"clients", "clients_google", "clients_ollama", "clients_bedrock"} {
			if strings.Contains(name+".py", *only) {
				programs = append(programs, s.Python()+" -B "+filepath.Join(clients, name+".py"))
			}
			if strings.Contains(name+".mjs", *only) {
				programs = append(programs, "node "+filepath.Join(clients, name+".mjs")+" "+s.Node())
			}
		}
		if len(programs) == 0 {
			return fmt.Errorf("-only %s: no program in scripts/sdks has that in its name", *only)
		}
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
	Branches int             `json:"branches"`
}

func run(oriel string, programs []string) (bad int, err error) {
	model, small := &fakemodel.Server{Answer: answer}, &limited{refused: map[string]int{}}
	behind := &fakemodel.Server{Answer: small.answer}
	free, up := httptest.NewServer(model), httptest.NewServer(behind)
	defer free.Close()
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
	chats := map[string]line{}
	for _, p := range programs {
		direct, err := lines(p, free.URL)
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
				chats[want.Chat] = want
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
	for _, p := range append(model.Problems(), behind.Problems()...) {
		table("requests keep the vendors' rules", "FAILED: "+p)
	}
	small.check(chats, table)
	return bad, history(dir, chats, table)
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
		"--upstream-anthropic", upstream, "--upstream-gemini", upstream, "--upstream-ollama", upstream, "--upstream-bedrock", upstream)
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
func history(dir string, chats map[string]line, table func(what, result string)) error {
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
	found := map[string][][]int64{} // the lengths of the branches, by conversation
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
		var depths []int64
		for _, h := range heads {
			depths = append(depths, h.Depth)
		}
		found[name] = append(found[name], depths)
	}
	for _, name := range slices.Sorted(maps.Keys(chats)) {
		want, got, result := chats[name], found[name], "passed"
		switch {
		case want.Messages == 0:
			if len(got) > 0 {
				result = fmt.Sprintf("FAILED: branches of %v messages, not nothing", got)
			}
		case len(got) != 1:
			result = fmt.Sprintf("FAILED: %d conversations, not 1: branches of %v messages", len(got), got)
		case len(got[0]) != max(want.Branches, 1) || slices.Max(got[0]) != want.Messages:
			result = fmt.Sprintf("FAILED: branches of %v messages, not %d, the longest of %d", got[0],
				max(want.Branches, 1), want.Messages)
		}
		table("history of "+name, result)
		delete(found, name)
	}
	for name, depths := range found {
		table("history", fmt.Sprintf("FAILED: %q is no chat of ours: %v", name, depths))
	}
	return nil
}
