// Package api runs schemathesis against the JSON API of an oriel serve with a history of
// real size: no request may lead to a server error, and every answer must be as
// openapi.json describes it.
//
//	./scripts/check api [--oriel PATH] [-examples 100] [-messages 30000] [-seed 1]
//
// schemathesis is installed from PyPI into $SCHEMATHESIS_DIR, or a folder under the
// temporary one. The stream of events is left out, because it does not end; the tests of
// internal/api cover it.
package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/tools/check/kit"
)

// Check runs schemathesis.
func Check(args []string) error {
	flags := kit.Flags("api")
	oriel := flags.String("oriel", "", "the program; default: built from the source")
	examples := flags.Int("examples", 100, "generated requests of each operation")
	messages := flags.Int("messages", 30_000, "messages of the large conversation")
	seed := flags.Int("seed", 1, "seed of what is generated")
	kit.Parse(flags, args)
	venv := os.Getenv("SCHEMATHESIS_DIR")
	if venv == "" {
		venv = filepath.Join(os.TempDir(), "oriel-schemathesis")
	}
	if err := kit.InstallPython(venv, "schemathesis"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "check-api")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *oriel == "" {
		if *oriel, err = kit.BuildOriel(dir); err != nil {
			return err
		}
	}
	c := &check{oriel: *oriel, dir: dir, data: filepath.Join(dir, "data")}
	if err := c.large(*messages); err != nil {
		return err
	}
	var asked atomic.Int64
	model := httptest.NewServer(&fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		a := fakemodel.Answer{Text: fmt.Sprintf("Done with %d.", len(r.Messages)), Input: 4000, CacheRead: 9000,
			Output: 40}
		if len(r.Messages)%4 == 1 {
			a.Calls = []fakemodel.Call{{ID: fmt.Sprintf("toolu_%d", asked.Add(1)), Name: "Bash",
				Arguments: `{"command":"make test"}`}}
		}
		return a
	}})
	defer model.Close()
	base, stop, err := kit.Serve(*oriel, "--data", c.data, "--upstream-anthropic", model.URL, "--upstream-openai",
		model.URL+"/v1")
	if err != nil {
		return err
	}
	err = c.run(base, venv, *examples, *seed)
	return errors.Join(err, stop())
}

// check is one check.
type check struct{ oriel, dir, data string }

// run makes calls and tests the API.
func (c *check) run(base, venv string, examples, seed int) error {
	if err := c.talk(base, 60); err != nil {
		return err
	}
	description, err := c.describe(base)
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(venv, "bin", "schemathesis"), "run", description, "--url", base+"/oriel/api",
		"--exclude-operation-id", "events", "--checks", "all", "--exclude-checks", "positive_data_acceptance",
		"--warnings", "off",
		"--max-examples", strconv.Itoa(examples), "--seed", strconv.Itoa(seed), "--request-timeout", "120",
		"--continue-on-failure",
		"--suppress-health-check", "all", "--no-color")
	cmd.Stdout, cmd.Stderr, cmd.Dir = os.Stdout, os.Stderr, c.dir
	err = cmd.Run()
	var status *exec.ExitError
	if errors.As(err, &status) {
		return kit.ErrFailed // it has said what
	}
	return err
}

// large imports a conversation with many messages.
func (c *check) large(n int) error {
	var b bytes.Buffer
	began := time.Now().Add(-24 * time.Hour)
	for i := range n {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		line, err := json.Marshal(map[string]any{
			"conversation": "large", "ref": fmt.Sprint("u", i),
			"time": began.Add(time.Duration(i) * time.Second).Format(time.RFC3339), "role": role,
			"text": fmt.Sprintf("Message %d <b>about</b> service %d, which listens on port %d. %s", i, i%40, 8000+i%40,
				strings.Repeat("And so on. ", i%50)),
		})
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	path := filepath.Join(c.dir, "large.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return err
	}
	if out, err := exec.Command(c.oriel, "import", path, "--format", "generic", "--data",
		c.data).CombinedOutput(); err != nil {
		return fmt.Errorf("import %d messages: %w: %s", n, err, out)
	}
	return nil
}

// talk has an agent make calls in a conversation called settle, with cuts.
func (c *check) talk(base string, calls int) error {
	var messages []json.RawMessage
	add := func(m any) {
		raw, _ := json.Marshal(m) // maps and texts
		messages = append(messages, raw)
	}
	for i := range calls {
		var last struct{ Content []struct{ Type, ID string } }
		if n := len(messages); n > 0 {
			json.Unmarshal(messages[n-1], &last) // a text has no parts
		}
		id := ""
		for _, p := range last.Content {
			if p.Type == "tool_use" {
				id = p.ID
			}
		}
		if id != "" {
			add(map[string]any{"role": "user",
				"content": []any{map[string]any{"type": "tool_result", "tool_use_id": id,
					"content": strings.Repeat("--- PASS: TestSettle\n", 200)}}})
		} else {
			add(map[string]any{"role": "user",
				"content": fmt.Sprintf("Question %d: %s", i, strings.Repeat("what about it? ", 80))})
		}
		body, err := json.Marshal(map[string]any{
			"model": "claude-sonnet-4-5", "max_tokens": 500, "system": "You are an agent.", "messages": messages,
			"tools": []any{map[string]any{"name": "Bash", "input_schema": map[string]any{"type": "object"}},
				map[string]any{"name": "mcp__x__idle", "input_schema": map[string]any{"type": "object"}}},
		})
		if err != nil {
			return err
		}
		r, err := http.NewRequest("POST", base+"/v1/messages", bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("X-Oriel-Conversation", "settle")
		r.Header.Set("X-Oriel-Budget", "16000")
		r.Header.Set("Anthropic-Version", "2023-06-01")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var reply struct{ Content json.RawMessage }
		if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(answer, &reply) != nil {
			return fmt.Errorf("call %d: %s, %v: %s", i, resp.Status, err, answer)
		}
		add(map[string]any{"role": "assistant", "content": reply.Content})
	}
	return nil
}

// describe writes the server's description to a file, with ids that there are as values
// of the parameters, so that many generated requests find something. It returns the file.
func (c *check) describe(base string) (string, error) {
	resp, err := http.Get(base + "/oriel/api/openapi.json")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var d map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&d); err != nil {
		return "", err
	}
	parameters := d["components"].(map[string]any)["parameters"].(map[string]any)
	for name, values := range map[string][]any{
		"conversation": {"settle", "large", "last", "none", "a/b"}, "call": {"1", "2", "59", "last", "99"},
		"plan": {"p1", "p2", "last", "p99"},
	} {
		p := parameters[name].(map[string]any)
		p["schema"] = map[string]any{"anyOf": []any{map[string]any{"enum": values}, p["schema"]}}
	}
	parameters["message"].(map[string]any)["schema"] = map[string]any{"type": "integer", "minimum": 1, "maximum": 130}
	raw, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, "openapi.json")
	return path, os.WriteFile(path, raw, 0o600)
}
