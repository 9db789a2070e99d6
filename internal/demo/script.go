package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

//go:embed session.txt
var session string

// Turn is a turn of the user.
type Turn struct {
	Text string
	// Undo reports that the newest plan is undone first.
	Undo bool

	first int // the step that answers
}

// step is what the model does in one call.
type step struct {
	text  string
	calls []fakemodel.Call
	// needs matches what the request must contain for that; if it does not, the
	// model says otherwise.
	needs     *regexp.Regexp
	otherwise string
}

// script is the session.
type script struct {
	turns []Turn
	steps []step
}

// readScript parses a session in the format that session.txt explains.
func readScript(text string) (*script, error) {
	s := new(script)
	for part := range strings.SplitSeq(text, "\n== ") {
		head, body, _ := strings.Cut(part, "\n")
		who, rest, _ := strings.Cut(head, " ")
		body = strings.TrimRight(body, "\n")
		switch who {
		case "user":
			if n := len(s.steps); n > 0 && len(s.steps[n-1].calls) > 0 {
				return nil, fmt.Errorf("step %d of the session calls tools, and the user speaks before their results",
					n-1)
			}
			s.turns = append(s.turns, Turn{Text: body, Undo: rest == "undo", first: len(s.steps)})
		case "model":
			st := step{}
			if pattern, ok := strings.CutPrefix(rest, "needs "); ok {
				st.needs = regexp.MustCompile(pattern)
			}
			if err := st.read(body, len(s.steps)); err != nil {
				return nil, fmt.Errorf("step %d of the session: %w", len(s.steps), err)
			}
			s.steps = append(s.steps, st)
		case "else":
			s.steps[len(s.steps)-1].otherwise = unwrap(body)
		}
	}
	return s, nil
}

// read parses the texts and calls of a step.
func (st *step) read(body string, n int) error {
	said, calls, _ := strings.Cut("\n"+body, "\n> ")
	st.text = unwrap(strings.TrimSpace(said))
	if calls == "" {
		return nil
	}
	for call := range strings.SplitSeq(calls, "\n> ") {
		line, rest, _ := strings.Cut(call, "\n")
		verb, about, _ := strings.Cut(line, " ")
		var tool string
		var a arguments
		switch verb {
		case "read":
			tool, a.Path = "read_file", about
		case "run":
			tool, a.Command = "run", about
		case "search":
			at := strings.LastIndexByte(about, ' ')
			tool, a.Pattern, a.Path = "search", about[:at], about[at+1:]
		case "edit":
			var ok bool
			tool, a.Path = "edit_file", about
			rest = strings.TrimSuffix(strings.TrimPrefix(rest, "<<<\n"), "\n>>>")
			if a.Old, a.New, ok = strings.Cut(rest, "\n===\n"); !ok {
				return fmt.Errorf("edit %s has no ===", about)
			}
		default:
			return fmt.Errorf("unknown tool %q", verb)
		}
		args, err := json.Marshal(a)
		if err != nil {
			return err
		}
		st.calls = append(st.calls, fakemodel.Call{ID: callID(n, len(st.calls)), Name: tool, Arguments: string(args)})
	}
	return nil
}

// callID returns the id of a tool call, which encodes its step.
func callID(step, call int) string { return fmt.Sprintf("toolu_%03d_%d", step, call) }

// stepOf returns the step to which a tool call belongs.
func stepOf(id string) (n int, ok bool) {
	var k int
	_, err := fmt.Sscanf(id, "toolu_%d_%d", &n, &k)
	return n, err == nil
}

// unwrap joins the lines of a paragraph; those of lists and titles stay apart.
func unwrap(text string) string {
	var b strings.Builder
	last := ""
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case b.Len() == 0:
		case line == "", last == "", strings.HasPrefix(line, "#"), strings.HasPrefix(last, "#"):
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(line)
		last = line
	}
	return b.String()
}
