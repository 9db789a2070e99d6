package call_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/rawjson/passes"
)

// countsPasses is set in the processes that count passes.
const countsPasses = "ORIEL_TEST_COUNTS_PASSES"

func init() {
	if os.Getenv(countsPasses) != "" {
		passes.Start()
	}
}

// inOwnProcess reports whether the test has a process of its own, in which no other test
// is counted. If it has not, the test is run in one.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(countsPasses) != "" {
		return true
	}
	if testing.Short() {
		t.Skip("counts the same under the race detector")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), countsPasses+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	return false
}

// worker is an agent with a long prompt and many tools, whose model says one thing.
type worker struct {
	*bench
	prompt, tools string
	list          []json.RawMessage
	calls         int
	size          int // of the last body
	header        []string
}

func newWorker(t *testing.T, profile string, header ...string) *worker {
	answer := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // it looks at nothing, so that nothing of its own is counted
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w,
			`{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Noted."}],"stop_reason":"end_turn","usage":{"input_tokens":100,"output_tokens":5}}`)
	}
	k := &worker{bench: startBefore(t, openStore(t, t.TempDir()), nil, answer,
		func(o *call.TestOptions) { o.Profile = profile }), header: append([]string{"X-Oriel-Conversation", "work"},
		header...)}
	k.prompt = strings.Repeat("You are a careful agent that works on a program. Answer in short sentences. ", 220)
	var tools []string
	for i := range 20 {
		tools = append(tools,
			fmt.Sprintf(`{"name":"tool_%d","description":%q,"input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}`, i, strings.Repeat(fmt.Sprintf("What tool %d does and when to use it. ", i), 30)))
	}
	k.tools = "[" + strings.Join(tools, ",") + "]"
	for i := range 240 {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		k.list = append(k.list, json.RawMessage(fmt.Sprintf(`{"role":%q,"content":%q}`, role, words(i))))
	}
	return k
}

// call sends everything with something new, and returns the passes over its bytes as
// multiples of the body.
func (k *worker) call() (of [passes.Kinds]float64, resp *http.Response) {
	k.t.Helper()
	k.list = append(k.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, words(1000+k.calls))))
	list, err := json.Marshal(k.list)
	must(err)
	body := fmt.Appendf(nil,
		`{"model":"claude-sonnet-4-5","max_tokens":1024,"system":[{"type":"text","text":%q}],"tools":%s,"messages":%s}`,
		k.prompt, k.tools, list)
	k.size = len(body)
	k.calls++
	passes.Take()
	resp, answer := k.send("/v1/messages", body, k.header...)
	if resp.StatusCode != http.StatusOK {
		k.t.Fatalf("%d %s", resp.StatusCode, answer)
	}
	k.settle(k.calls)
	k.list = append(k.list, json.RawMessage(`{"role":"assistant","content":[{"type":"text","text":"Noted."}]}`))
	for i, n := range passes.Take() {
		of[i] = float64(n) / float64(len(body))
	}
	of[passes.Counts] *= float64(len(body))
	return of, resp
}

func (k *worker) within(what string, of, most [passes.Kinds]float64) {
	k.t.Helper()
	k.t.Logf("%s: a body of %d bytes; JSON %.2f, sums %.2f, SHA-256 %.2f, %.0f counts, bodies %.2f, compressed %.3f",
		what, k.size,
		of[passes.JSON], of[passes.Sums], of[passes.SHA256], of[passes.Counts], of[passes.Bodies],
		of[passes.Compressed])
	if of[passes.JSON] < 1 {
		k.t.Errorf("%s: nothing was counted", what)
	}
	for i, n := range of {
		if n > most[i] {
			k.t.Errorf("%s: %.3f of kind %d, want at most %.3f", what, n, i, most[i])
		}
	}
}

// A call within its budget reads its bytes once, hashes them once, counts them once, and
// compresses what is new.
func TestPassesOfACallWithinItsBudget(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	most := [passes.Kinds]float64{passes.JSON: 1.1, passes.Sums: 1.1, passes.SHA256: 1.1, passes.Counts: 1,
		passes.Bodies:     0,
		passes.Compressed: 0.02}
	for _, profile := range []string{"off", "full"} {
		k := newWorker(t, profile)
		k.call()
		k.call()
		of, _ := k.call()
		k.within(profile, of, most)
	}
}

// A call that cuts reads, hashes and counts the body once, but for what it writes itself,
// and writes one body, a little over a quarter of what came; so does the next one.
func TestPassesOfACallThatCuts(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	k := newWorker(t, "thrifty", "X-Oriel-Budget", "150000")
	k.call()
	k.call()
	k.header[len(k.header)-1] = "45000"
	of, resp := k.call()
	if resp.Header.Get("X-Oriel-Plan") == "" {
		t.Fatal("the call was not cut")
	}
	k.within("cuts", of, [passes.Kinds]float64{passes.JSON: 1.1, passes.Sums: 1.1, passes.SHA256: 1.1, passes.Counts: 1,
		passes.Bodies: 0.3, passes.Compressed: 0.1})
	of, _ = k.call()
	k.within("below a cut", of, [passes.Kinds]float64{passes.JSON: 1.1, passes.Sums: 1.1, passes.SHA256: 1.1,
		passes.Counts: 1, passes.Bodies: 0.3, passes.Compressed: 0.02})
}
