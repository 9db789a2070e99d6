package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"
)

// onText calls do once, when a text has been written.
type onText struct {
	w    io.Writer
	text string
	do   func()
}

func (o *onText) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.do != nil && strings.Contains(string(p), o.text) {
		do := o.do
		o.do = nil
		do()
	}
	return n, err
}

// The whole session: what leaves, what comes back, what is undone, what it costs. That
// each body is valid is judged by the model, which refuses any other; that recall, undo
// and the bill are what they should be by the command itself, which fails otherwise.
// While the server is up the commands that are printed work; an interrupt ends it.
// SPEC D3, E3, E5
func TestDemo(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir() + "/history"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	screen := newDemoScreen(&onText{w: &out, text: "Ctrl-C ends it.", do: func() {
		defer cancel()
		t.Setenv("ORIEL_DATA", dir)
		lookAround(t, out.String(), dir)
	}}, false)
	if err := runDemo(ctx, screen, "127.0.0.1:0", dir, true); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	text := out.String()
	for _, want := range []string{
		`(?m)^ +\d+ .*→ .*✂ cut`,
		`(?m)^ +\d+ .*→ .*◆ recall$`,
		`(?m)^│ without +“I do not know the host and the port`,
		`(?m)^│ with +“Staging is pg\.staging\.harbor\.example, and the port is 6543`,
		`(?m)^ +\d+ .*→ .*↶ undone`,
		`(?m)^│ after +[\d,]+ tokens, with it`,
		`(?m)^cost +\$\d\.\d+ +\$\d\.\d+ +-\d+%$`,
		`(?m)^tokens sent to the model .* -\d+%$`,
		`(?m)^Ctrl-C ends it\. See all of it in a browser:\nhttp://[\d.:]+/oriel/#/conversation/demo$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("nothing matches %s", want)
		}
	}
	checkSizes(t, text)
	calls := regexp.MustCompile(`(?m)^ *\d+ [▓▒◆█░]+`).FindAllString(text, -1)
	if len(calls) < 60 {
		t.Errorf("%d calls", len(calls))
	}
	session, _, _ := strings.Cut(text, "The server is still up") // the names of folders are long in tests
	for line := range strings.Lines(session) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 || strings.Contains(line, "\x1b") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if _, err := os.Stat(dir + "/oriel.db"); err != nil {
		t.Error(err)
	}
}

// checkSizes reads the sizes of requests and views, in thousands of tokens: no view is
// over the budget, and what is recalled is a tenth of it at most.
func checkSizes(t *testing.T, text string) {
	number := func(s string) float64 {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	var before, after float64 // of the call before
	recalls := 0
	for _, m := range regexp.MustCompile(`(?m)^ *\d+ [▓▒◆█░].* ([\d.]+)k → +([\d.]+)k(.*)$`).FindAllStringSubmatch(text,
		-1) {
		request, view := number(m[1]), number(m[2])
		if view > demoBudget/1000 {
			t.Errorf("a view over the budget: %s", m[0])
		}
		if strings.Contains(m[3], "◆") && !strings.ContainsAny(m[3], "✂↶") && after > 0 {
			recalls++
			// Figures are rounded to a hundred. What was recalled for an earlier turn may leave.
			if more := (view - after) - (request - before); more < -demoBudget/1e4-.2 || more > demoBudget/1e4+.2 {
				t.Errorf("%.1fk tokens are recalled: %s", more, m[0])
			}
		}
		before, after = request, view
	}
	if recalls == 0 {
		t.Error("no call has the size of a recall")
	}
}

// lookAround does what people are told to.
func lookAround(t *testing.T, told, dir string) {
	at := regexp.MustCompile(`http://[\d.:]+`).FindString(told)
	res, err := http.Get(at + "/oriel/healthz")
	if err != nil {
		t.Error(err)
		return
	}
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if res.StatusCode != http.StatusOK {
		t.Error(res.Status)
	}
	if !strings.Contains(told, "export ORIEL_DATA="+dir+"\n") {
		t.Errorf("the folder is not named: %s", told)
	}
	for _, c := range []struct{ command, want string }{
		{"show demo --last 20", "That is all for today."},
		{"show demo --plan --last 1", " tokens are sent ("},
		{"recall staging --conversation demo", "6543"},
		{"release demo", "released"},
	} {
		var said, errs bytes.Buffer
		if code := run(strings.Fields(c.command), strings.NewReader(""), &said, &errs); code != 0 ||
			!strings.Contains(said.String(), c.want) {
			t.Errorf("%s: exit %d: %s%s", c.command, code, &said, &errs)
		}
	}
}

// An interrupt in the middle is an end as good as any.
func TestDemoIsInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := demoCommand()
	cmd.SetArgs([]string{})
	cmd.SetOut(&onText{w: io.Discard, text: " 5 ", do: cancel})
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestDemoWantsAFreePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out, errs bytes.Buffer
	if code := run([]string{"demo", "--listen", l.Addr().String()}, strings.NewReader(""), &out, &errs); code != 1 ||
		!strings.Contains(errs.String(), "--listen 127.0.0.1:0 takes a free port") {
		t.Errorf("exit %d: %s", code, &errs)
	}
}

// A story that is not true is not told as if it were.
func TestDemoFailsLoudly(t *testing.T) {
	good := func() *demoStory {
		return &demoStory{cuts: 1, saved: true, undo: &demoUndo{},
			bill: demoBill{most: demoBudget, cost: 1, costWhole: 2}}
	}
	if err := good().check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*demoStory){
		"nothing was cut":        func(d *demoStory) { d.cuts = 0 },
		"above the budget":       func(d *demoStory) { d.bill.most++ },
		"recall did not return":  func(d *demoStory) { d.saved = false },
		"undo did not restore":   func(d *demoStory) { d.undo.text = "what is not back" },
		"without Oriel":          func(d *demoStory) { d.bill.cost = 3 },
		"undo did not restore w": func(d *demoStory) { d.undo = nil },
	} {
		d := good()
		if spoil(d); d.check() == nil || !strings.Contains(d.check().Error(), want) {
			t.Errorf("%q: %v", want, d.check())
		}
	}
}
