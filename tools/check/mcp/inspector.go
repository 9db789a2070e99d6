package mcp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/oriel-context/oriel/tools/check/kit"
)

const talk = `{"conversation":"c1","ref":"u1","time":"2024-05-01T10:00:00Z","role":"user","text":"Where did we put the key of the old barn?"}
{"conversation":"c1","ref":"u2","time":"2024-05-01T10:01:00Z","role":"assistant","text":"The key is under the third stone beside the barn."}
{"conversation":"c1","ref":"u3","time":"2024-05-01T10:02:00Z","role":"user","text":"From now on always lock the barn at night."}
`

// walk lists what the inspector is asked and what its output has. A line that begins with !
// is the error of a tool.
var walk = [][2]string{
	{"--method tools/list", `"list_conversations"`},
	{"--method tools/list", `"destructiveHint"`},
	{"--method resources/list", `"oriel://conversations/c1"`},
	{"--method resources/templates/list", `"oriel://conversations/{conversation}"`},
	{"--method resources/read --uri oriel://conversations/c1", "third stone"},
	{"--method tools/call --tool-name recall --tool-arg query=key --tool-arg conversation=c1", "third stone"},
	{"--method tools/call --tool-name recall --tool-arg query=key --tool-arg scope=user --tool-arg since=2024-05-01 --tool-arg budget=500", "third stone"},
	{"--method tools/call --tool-name recall --tool-arg query=key --tool-arg scope=user --tool-arg until=2020-01-01",
		"0 passages"},
	{"--method tools/call --tool-name recall --tool-arg query=key --tool-arg scope=moon", "!scope: "},
	{"--method tools/call --tool-name recall --tool-arg query=key --tool-arg budget=7", "!budget: 7 does not fit"},
	{"--method tools/call --tool-name recall", "!query is missing"},
	{"--method tools/call --tool-name read --tool-arg conversation=c1 --tool-arg from=1 --tool-arg to=2",
		"all of them whole"},
	{"--method tools/call --tool-name read --tool-arg conversation=c1 --tool-arg from=9",
		"!from: there is no message 9"},
	{"--method tools/call --tool-name read --tool-arg conversation=nobody --tool-arg from=1",
		"!no conversation is called"},
	{"--method tools/call --tool-name list_conversations --tool-arg limit=1", "1 of 1 conversations"},
	{"--method tools/call --tool-name list_conversations --tool-arg limit=0", "!limit: 0 does not fit"},
	{"--method tools/call --tool-name directives --tool-arg conversation=c1", "always lock the barn"},
	{"--method tools/call --tool-name directives --tool-arg scope=user", "always lock the barn"},
	{"--method tools/call --tool-name directives --tool-arg scope=moon", "!scope: "},
	{"--method tools/call --tool-name change_directive --tool-arg conversation=c1 --tool-arg id=3 --tool-arg text=Lock_both_barns.", "holds instead of the standing instructions of message 3"},
	{"--method tools/call --tool-name directives --tool-arg conversation=c1", "Lock_both_barns."},
	{"--method tools/call --tool-name change_directive --tool-arg conversation=c1 --tool-arg id=3", "dismissed"},
	{"--method tools/call --tool-name change_directive --tool-arg conversation=c1 --tool-arg id=2 --tool-arg text=x",
		"!"},
	{"--method tools/call --tool-name change_directive --tool-arg conversation=c1", "!id is missing"},
	{"--method tools/call --tool-name pin --tool-arg conversation=c1 --tool-arg id=2", `"pinned": true`},
	{"--method tools/call --tool-name pin --tool-arg conversation=c1 --tool-arg id=99", "!"},
	{"--method tools/call --tool-name unpin --tool-arg conversation=c1 --tool-arg id=2", `"pinned": false`},
	{"--method tools/call --tool-name unpin --tool-arg id=2", "!conversation is missing"},
	{"--method tools/call --tool-name undo --tool-arg conversation=c1", "!"},
	{"--method tools/call --tool-name undo --tool-arg conversation=c1 --tool-arg plan=p7", "!"},
}

// inspect walks every tool with the inspector's command line, over stdio and over HTTP, each
// on a history of its own.
func inspect(oriel, dir string) error {
	inspector, err := installInspector()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "talk.jsonl")
	if err := os.WriteFile(file, []byte(talk), 0o600); err != nil {
		return err
	}
	alone, served := filepath.Join(dir, "inspected"), filepath.Join(dir, "served")
	for _, data := range []string{alone, served} {
		if out, err := exec.Command(oriel, "import", file, "--data", data).CombinedOutput(); err != nil {
			return fmt.Errorf("oriel import: %w: %s", err, out)
		}
	}
	problems := walkAll(inspector, "stdio", oriel, "mcp", "--data", alone)
	base, stop, err := startServe(oriel, served)
	if err != nil {
		return err
	}
	defer stop()
	return errors.Join(problems, walkAll(inspector, "http", base+"/oriel/mcp", "--transport", "http"))
}

func walkAll(inspector, how string, server ...string) error {
	var problems []error
	for _, step := range walk {
		out, _ := exec.Command(inspector, append(append([]string{"--cli"}, server...),
			strings.Fields(step[0])...)...).CombinedOutput()
		want, failed := strings.CutPrefix(step[1], "!")
		var result struct{ IsError bool }
		_ = json.Unmarshal(out, &result) // lists have no such member
		if !strings.Contains(string(out), want) || result.IsError != failed {
			problems = append(problems, fmt.Errorf("%s: %s: want %q in %.600s", how, step[0], step[1], out))
		}
	}
	fmt.Printf("inspector over %s: %d of %d steps as expected\n", how, len(walk)-len(problems), len(walk))
	return errors.Join(problems...)
}

// installInspector installs the inspector from npm, if it is missing.
func installInspector() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "oriel-inspector")
	bin := filepath.Join(dir, "node_modules", ".bin", "mcp-inspector")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if out, err := exec.Command("npm", "install", "--silent", "--prefix", dir,
		"@modelcontextprotocol/inspector").CombinedOutput(); err != nil {
		return "", fmt.Errorf("install the inspector with npm: %w: %s", err, out)
	}
	return bin, nil
}

// startServe starts a server on a free port.
func startServe(oriel, data string) (base string, stop func(), err error) {
	cmd := exec.Command(oriel, "serve", "--listen", "127.0.0.1:0", "--data", data)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "export ANTHROPIC_BASE_URL="); ok {
			return rest, stop, nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("%w: oriel serve printed no address", kit.ErrFailed)
}
