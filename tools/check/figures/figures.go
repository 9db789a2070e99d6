// Package figures records one history through the program and compares every screen that
// shows a sum with the others, and with a sum of its own.
//
//	./scripts/check figures [--oriel PATH] [-keep DIR]
//
// Scripted clients of three protocols call a model through oriel serve and oriel run: with
// cuts, recalls, a session that is resumed, a client that rewrites its history, streams
// without a report of usage, a model without a price, and a call that fails; a session is
// imported. The model reports usage from a cache that it simulates: the longest prefix, in
// messages, of its last prompt of the session. It sees the bodies as they came, too, and keeps
// a second account of what they would have cost.
package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/wire"
)

// Check makes the history and compares.
func Check(args []string) error {
	flags := kit.Flags("figures")
	program := flags.String("oriel", "", "the program; default: built from the source")
	keep := flags.String("keep", "", "folder for the history; default: one that is removed")
	resume := flags.String("resume", "",
		"go on with the client in this file: the check calls itself so under oriel run")
	kit.Parse(flags, args)
	if *resume != "" {
		return goOn(*resume)
	}
	dir, err := os.MkdirTemp("", "check-figures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &check{oriel: *program, dir: dir, data: filepath.Join(dir, "data"), prices: kit.PriceList{}}
	if *keep != "" {
		c.data = *keep
	}
	if c.oriel == "" {
		if c.oriel, err = kit.BuildOriel(dir); err != nil {
			return err
		}
	}
	os.Setenv("TZ", "UTC") // days are those of the commands and of the console
	began := time.Now().UTC()
	model := httptest.NewServer(&c.model)
	defer model.Close()
	if err := c.record(model.URL); err != nil {
		return err
	}
	if time.Now().UTC().Day() != began.Day() {
		return errors.New("a day has ended meanwhile: run it again")
	}
	fmt.Printf("%d figures compared, %d differ\n", c.compared, c.bad)
	return kit.Failed(c.bad)
}

type check struct {
	oriel, dir, data string
	model            model
	prices           kit.PriceList
	compared, bad    int
}

// goOn is the client under oriel run.
func goOn(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var a agent
	if err := json.Unmarshal(data, &a); err != nil {
		return err
	}
	a.Base = os.Getenv("ANTHROPIC_BASE_URL")
	if err := a.work("Please go on with the next services.", 4); err != nil {
		return err
	}
	return a.ask("Which port does service 3 listen on?")
}

// record makes the history, and compares while the server runs.
func (c *check) record(upstream string) error {
	serve := []string{"--data", c.data, "--profile", "thrifty", "--upstream-anthropic", upstream, "--upstream-openai",
		upstream + "/v1"}
	base, stop, err := kit.Serve(c.oriel, serve...)
	if err != nil {
		return err
	}
	resumed := &agent{Base: base, Model: upstream, Session: "resumed", Name: "claude-sonnet-4-5",
		Format: wire.Anthropic, Budget: 6000}
	err = resumed.work("Please read all services.", 14)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	if err := c.underRun(resumed, upstream); err != nil {
		return err
	}
	if err := c.imports(); err != nil {
		return err
	}
	base, stop, err = kit.Serve(c.oriel, serve...)
	if err != nil {
		return err
	}
	c.model.fresh() // what the metrics of this server have
	for _, a := range []*agent{
		{Session: "chat", Name: "gpt-4o", Format: wire.Chat, Budget: 6000},
		{Session: "responses", Name: "gpt-5", Format: wire.Responses, Budget: 6000},
		{Session: "silent", Name: "gpt-4.1", Format: wire.Chat, Stream: true, Budget: 6000},
		{Session: "rewrites", Name: "gpt-4o-mini", Format: wire.Chat, Rewrites: true, Budget: 6000},
		{Session: "unpriced", Name: "house-model", Format: wire.Chat, Budget: 6000},
	} {
		a.Base, a.Model = base, upstream
		err = errors.Join(err, a.work("Please read all services.", 16), a.ask("Which port does service 3 listen on?"))
	}
	failing := &agent{Base: base, Model: upstream, Session: "failing", Name: "gpt-4o", Format: wire.Chat}
	if e := failing.ask("Hello?"); e == nil {
		err = errors.Join(err, errors.New("the call that fails did not"))
	}
	if err == nil {
		err = c.compare(base)
	}
	return errors.Join(err, stop())
}

// summary is what oriel run --summary writes.
type summary struct {
	Calls, Failed, Input, Output, Unreported int
	CacheRead                                int `json:"cache_read"`
	Cost                                     float64
	Without                                  float64
	Before                                   int `json:"tokens_before"`
	After                                    int `json:"tokens_after"`
}

// underRun resumes a session under oriel run and compares its summary with what it added to
// oriel usage.
func (c *check) underRun(a *agent, upstream string) error {
	file, out := filepath.Join(c.dir, "agent.json"), filepath.Join(c.dir, "summary.json")
	state, err := json.Marshal(a)
	if err != nil {
		return err
	}
	self, err1 := os.Executable()
	if err := errors.Join(err1, os.WriteFile(file, state, 0o600)); err != nil {
		return err
	}
	before, err := c.usage("conversation")
	if err != nil {
		return err
	}
	all := func(*call) bool { return true }
	own := c.model.count("resumed", all)
	cmd := exec.Command(c.oriel, "run", "--data", c.data, "--profile", "thrifty", "--upstream-anthropic", upstream,
		"--summary", out,
		"--", self, "figures", "-resume", file)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("oriel run: %w: %s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	var s summary
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	after, err := c.usage("conversation")
	if err != nil {
		return err
	}
	x, y := before["resumed"], after["resumed"]
	c.same("run summary, calls", s.Calls, c.model.count("resumed", all)-own)
	c.same("run summary against usage, calls", s.Calls, y.Calls-x.Calls)
	c.same("run summary against usage, prompt", s.Input, y.Input-x.Input)
	c.same("run summary against usage, cache", s.CacheRead, y.CacheRead-x.CacheRead)
	c.same("run summary against usage, output", s.Output, y.Output-x.Output)
	c.same("run summary against usage, left out", s.Before-s.After, y.LeftOut-x.LeftOut)
	c.money("run summary against usage, cost", s.Cost, y.Cost-x.Cost)
	c.money("run summary against usage, without", s.Without, y.Without-x.Without)
	return nil
}

// imports imports a session of Claude Code.
func (c *check) imports() error {
	file := filepath.Join(c.dir, "imported.jsonl")
	text := ""
	parent := "null"
	for i := range 4 {
		const head = `"sessionId":"imported","cwd":"/src/shop","timestamp":"2026-01-02T10:00:0%dZ"`
		text += fmt.Sprintf(`{"type":"user","uuid":"u%d","parentUuid":%s,`+head+
			`,"message":{"role":"user","content":"Question %d"}}`+"\n", i, parent, 2*i, i)
		text += fmt.Sprintf(`{"type":"assistant","uuid":"a%d","parentUuid":"u%[1]d",`+head+
			`,"message":{"id":"m%[1]d","role":"assistant",`+
			`"model":%[3]q,"content":[{"type":"text","text":"Answer %[1]d"}],`+
			`"usage":{"input_tokens":%[4]d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d}}}`+"\n",
			i, 2*i+1, importedModel, importedUse.Fresh, importedUse.Read, importedUse.Write, importedUse.Output)
		parent = fmt.Sprintf(`"a%d"`, i)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := c.run("import", file)
	return err
}

const importedModel = "claude-opus-4-5"

var importedUse = kit.Used{Fresh: 30, Read: 20_000, Write: 1500, Output: 400} // of each of 4 calls

// run runs a command of the program on the history.
func (c *check) run(args ...string) ([]byte, error) {
	cmd := exec.Command(c.oriel, append(args, "--data", c.data)...)
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil, fmt.Errorf("oriel %v: %w: %s", args, err, exit.Stderr)
	}
	return out, err
}

// read runs a command of the program and reads its JSON.
func (c *check) read(into any, args ...string) error {
	out, err := c.run(append(args, "--json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("oriel %v: %w", args, err)
	}
	return nil
}

// get reads an answer of the API.
func get(base, path string, into any) error {
	r, err := http.Get(base + "/oriel/" + path)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %w: %s", path, r.Status, err, data)
	}
	if text, ok := into.(*string); ok {
		*text = string(data)
		return nil
	}
	return json.Unmarshal(data, into)
}
