package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/importer/claudecode"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
)

// What counts as reading a file again, and the window of simulated cuts.
const (
	rereadWithin = 30     // tool calls after the cut
	cutAbove     = 64_000 // tokens
	cutTo        = cutAbove / 2
)

// Kinds of questions about coding sessions. Those "ahead" are asked with the
// messages before the model's turn that reads the file; the others also with
// what the model says in that turn.
const (
	kindReread = "re-read"
	kindCut    = "re-read after a cut"
	ahead      = ", ahead"
)

// claudeCode reads sessions of Claude Code. It makes a question of each file
// that was read before a compaction and is read again soon after it. Few
// sessions have compactions, so each session is used a second time without
// them, in a window of 64,000 tokens that is cut to half, oldest first,
// whenever it is full.
func (s *Set) claudeCode(ctx context.Context, paths []string) error {
	for _, p := range paths {
		files := []string{p}
		if info, err := os.Stat(p); err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(escape(p), "*.jsonl")); err != nil {
				return err
			}
			if len(files) == 0 {
				return fmt.Errorf("%w: no .jsonl in %s", ErrInput, p)
			}
		}
		for _, file := range files {
			sessions, err := codingSessions(ctx, file)
			if err != nil {
				return err
			}
			for i := range sessions {
				s.Conversations = append(s.Conversations, sessions[i].compacted(), sessions[i].cut())
			}
		}
	}
	return nil
}

// step is a message of a coding session.
type step struct {
	said    recall.Message
	reply   string // the id of the model's turn
	calls   []reading
	results []result
	tokens  int
	// compacts marks the message with which the window began anew; summary
	// marks the summary that the window began with.
	compacts, summary bool
}

// reading is a tool call; file is empty if it reads none.
type reading struct{ id, file string }

type result struct {
	id   string
	text string
	bad  bool
}

type codingSession struct {
	name, folder string
	steps        []step
}

// codingSessions reads the sessions of a file.
func codingSessions(ctx context.Context, file string) ([]codingSession, error) {
	store := memory.New()
	defer store.Close()
	report, err := imported(ctx, store, file, importer.ClaudeCode)
	if err != nil {
		return nil, err
	}
	counter := token.NewCounter(token.Model{Encoding: "o200k_base", Exact: true}, token.Options{})
	out := make([]codingSession, len(report.Conversations))
	for i, found := range report.Conversations {
		c, err := store.Conversation(ctx, timeline.Local, found.Name)
		if err != nil {
			return nil, err
		}
		s := &out[i]
		s.name = found.Name
		reader := recall.Reader{Conversation: found.Name}
		compacts := false
		err = store.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, false, func(e *timeline.Entry) error {
			line, err := claudecode.Parse(e.Raw)
			if err != nil {
				return err
			}
			s.folder = cmp.Or(s.folder, line.Folder)
			if e.Role == timeline.RoleMeta {
				compacts = compacts || line.Compacts()
				return nil
			}
			m, ok := reader.Read(e)
			if !ok {
				return nil
			}
			m.Block = strconv.FormatInt(e.Place.Depth, 10)
			st := step{said: m, reply: line.Message.ID, compacts: compacts ||
				line.CompactSummary, summary: line.CompactSummary}
			compacts = false
			said, err := e.Chat()
			if err != nil {
				return err
			}
			for k := range said.Parts {
				st.take(&said.Parts[k], line.Folder, counter)
			}
			s.steps = append(s.steps, st)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// take adds a part of a message to the step.
func (st *step) take(p *chat.Part, folder string, counter *token.Counter) {
	text := p.Text.String()
	switch p.Kind {
	case chat.Call:
		text = p.Arguments()
		st.calls = append(st.calls, reading{p.ID, fileRead(p, folder)})
	case chat.Result:
		for i := range p.Parts {
			text += p.Parts[i].Text.String()
		}
		st.results = append(st.results, result{p.ID, text, p.IsError})
	}
	st.tokens += counter.Text(text).Tokens
}

// shows matches a command that only prints one file.
var shows = regexp.MustCompile(`^\s*(?:cd\s+(\S+)\s*&&\s*)?(?:cat|head|tail|nl|sed)\s((?:-\S+\s+|\d+\s+|'[^']*'\s+|"[^"]*"\s+)*)([^\s|;&<>$*'"]+)\s*$`)

// fileRead returns the file that a call reads, or "".
func fileRead(p *chat.Part, folder string) string {
	var args struct {
		File    string `json:"file_path"`
		Command string
	}
	if json.Unmarshal([]byte(p.Arguments()), &args) != nil {
		return ""
	}
	switch p.Name {
	case "Read":
		return args.File
	case "Bash":
		m := shows.FindStringSubmatch(args.Command)
		if m == nil || strings.Contains(" "+m[2], " -i") {
			return ""
		}
		for _, p := range []string{m[1], m[3]} {
			if path.IsAbs(p) {
				folder = ""
			}
			folder = path.Join(folder, p)
		}
		return folder
	}
	return ""
}

// compacted returns the session with questions about its compactions.
func (s *codingSession) compacted() Conversation {
	gone := 0
	return s.ask(kindReread, s.name, s.steps, func(i int) int {
		if s.steps[i].compacts {
			gone = i
		}
		return gone
	})
}

// cut returns the session with questions about a window that is cut to half
// whenever it is full.
func (s *codingSession) cut() Conversation {
	steps := slices.DeleteFunc(slices.Clone(s.steps), func(st step) bool { return st.summary })
	gone, held := 0, 0
	return s.ask(kindCut, s.name+" (cut)", steps, func(i int) int {
		if held += steps[i].tokens; held > cutAbove {
			for ; held > cutTo && gone < i; gone++ {
				held -= steps[gone].tokens
			}
		}
		return gone
	})
}

// ask makes a question of each file that is read again. gone returns how many
// messages the window no longer shows after message i.
func (s *codingSession) ask(kind, name string, steps []step, gone func(i int) int) Conversation {
	c := Conversation{Name: name}
	read := map[string][]int{}  // file → the messages that show it
	open := map[string]string{} // call → file
	asked := map[string]bool{}
	since, before := 0, 0
	for i := range steps {
		st := &steps[i]
		st.said.Conversation = name
		c.Messages = append(c.Messages, st.said)
		for _, r := range st.results {
			if file := open[r.id]; file != "" && !r.bad {
				read[file] = append(read[file], i)
			}
		}
		for _, call := range st.calls {
			since++
			open[call.id] = call.file
			had := read[call.file]
			if call.file == "" || asked[call.file] || before == 0 || since > rereadWithin || len(had) == 0 ||
				had[len(had)-1] >= before {
				continue
			}
			asked[call.file] = true
			q := Question{Kind: kind, File: call.file, Folder: s.folder, Gone: before, Aside: kind != kindReread,
				Lines: linesOf(steps[i:], call.id)}
			for _, at := range had {
				q.Evidence = append(q.Evidence, steps[at].said.Ref)
			}
			first := i // the first message of the turn: results of its first calls may come between
			if st.reply != "" {
				first = slices.IndexFunc(steps, func(s step) bool { return s.reply == st.reply })
			}
			c.add(q, steps, i, i, "")
			q.Aside = true
			c.add(q, steps, first-1, first, ahead)
		}
		if now := gone(i); now != before {
			before, since = now, 0
			clear(asked)
		}
	}
	return c
}

// add adds a question that consists of the newest words up to the message
// last; said is how many messages precede it.
func (c *Conversation) add(q Question, steps []step, last, said int, suffix string) {
	q.Said = said
	for ; last >= 0; last-- {
		if m := &steps[last].said; m.Text != "" && !steps[last].summary {
			q.ID = strconv.Itoa(len(c.Questions) + 1)
			q.Kind += suffix
			q.Text = m.Text
			q.Evidence = slices.Clone(q.Evidence)
			c.Questions = append(c.Questions, q)
			return
		}
	}
}

// numbered matches the line number that Claude Code puts before each line of a
// file.
var numbered = regexp.MustCompile(`^\s*\d+→`)

// linesOf returns the lines of a call's result that are long enough to be
// distinctive.
func linesOf(steps []step, call string) []string {
	for i := range steps {
		for _, r := range steps[i].results {
			if r.id != call {
				continue
			}
			var out []string
			for line := range strings.Lines(r.text) {
				if line = strings.TrimSpace(numbered.ReplaceAllString(line, "")); len(line) > 10 {
					out = append(out, line)
				}
			}
			return out
		}
	}
	return nil
}

// names reports whether text contains the path of the question's file,
// absolute or relative to the session's folder.
func (q *Question) names(text string) bool {
	if has(text, q.File) {
		return true
	}
	short, err := filepath.Rel(q.Folder, q.File)
	return err == nil && !strings.HasPrefix(short, "..") && strings.Contains(short, "/") && has(text, short)
}

// has reports whether text contains a path that does not continue there.
func has(text, file string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], file)
		if i < 0 {
			return false
		}
		at += i + len(file)
		if at == len(text) || !goesOn.MatchString(text[at:]) {
			return true
		}
	}
}

var goesOn = regexp.MustCompile(`^(?:[\w/-]|\.\w)`)
