package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/importer"
	"github.com/oriel-context/oriel/timeline/memory"
)

// Errors of what was given.
var (
	// ErrInput: it is no set of this form.
	ErrInput = errors.New("not a set of questions")
	// ErrOption: a setting that cannot be.
	ErrOption = errors.New("nothing can be measured")
)

// Formats are the forms of sets that Load reads.
func Formats() []string { return []string{"locomo", "beam", "generic", "claude-code"} }

// Set is conversations with questions about them.
type Set struct {
	Format        string
	Conversations []Conversation
	// Unknown counts the pieces of evidence that no conversation has.
	Unknown int
}

// Conversation is what was said and what is asked about it.
type Conversation struct {
	Name      string
	Messages  []recall.Message
	Questions []Question
}

// Question is asked about a conversation.
type Question struct {
	ID   string
	Kind string
	Text string
	// Evidence are the refs of the messages that the answer needs. Questions
	// without any are not counted.
	Evidence []string
	// Aside says that the question is listed but is no part of the main figure.
	Aside bool
	// Answer is the gold answer; empty where the set tells none. Unanswerable says
	// that the right answer is that there is none.
	Answer       string
	Unanswerable bool
	// Said is how many messages had been said when it was asked; 0 means all.
	Said int
	// Gone, where it is not 0, is how many of them the window no longer shows: the
	// others are not recalled (SPEC D3).
	Gone int
	// File is a file that is read again, Folder that of the session. Evidence are
	// then the messages that show it, and any of them will do. Lines are what
	// reading it again brings.
	File, Folder string
	Lines        []string
}

// Load reads a set: files of LoCoMo's form, folders of BEAM chats, folders or files
// of the generic form with a questions.jsonl beside them, or folders or files of
// Claude Code's sessions.
func Load(ctx context.Context, format string, paths []string) (*Set, error) {
	set := &Set{Format: format}
	var err error
	switch format {
	case "locomo":
		err = set.locomo(ctx, paths)
	case "beam":
		err = set.beam(ctx, paths)
	case "generic":
		err = set.generic(ctx, paths)
	case "claude-code":
		err = set.claudeCode(ctx, paths)
	default:
		return nil, fmt.Errorf("%w: --format %q: use locomo, beam, generic or claude-code", ErrOption, format)
	}
	if err != nil {
		return nil, err
	}
	for i := range set.Conversations {
		c := &set.Conversations[i]
		unknown := c.known()
		set.Unknown += len(unknown)
		if format == "generic" && len(unknown) > 0 { // our own form: whoever wrote it can mend it
			return nil, fmt.Errorf("%w: %s: %s names the evidence %q, and no message has this ref", ErrInput, c.Name, unknown[0][0], unknown[0][1])
		}
	}
	return set, nil
}

// known leaves out evidence that the conversation does not have: a label's mistake
// that nobody could find. It tells which, each with its question's id.
func (c *Conversation) known() (unknown [][2]string) {
	refs := map[string]bool{}
	for i := range c.Messages {
		refs[c.Messages[i].Ref] = true
	}
	for i := range c.Questions {
		q := &c.Questions[i]
		slices.Sort(q.Evidence)
		q.Evidence = slices.DeleteFunc(slices.Compact(q.Evidence), func(ref string) bool {
			if !refs[ref] {
				unknown = append(unknown, [2]string{q.ID, ref})
			}
			return !refs[ref]
		})
	}
	return unknown
}

// gold is an answer. Sets have numbers, too, which stay as they are written.
type gold string

// UnmarshalJSON takes any value.
func (g *gold) UnmarshalJSON(raw []byte) error {
	var text string
	switch {
	case string(raw) == "null":
	case json.Unmarshal(raw, &text) == nil:
		*g = gold(text)
	default:
		*g = gold(raw)
	}
	return nil
}

// told reads the conversations of a file, in its order.
func told(ctx context.Context, path string, format importer.Format) ([]Conversation, error) {
	store := memory.New()
	defer store.Close()
	report, err := imported(ctx, store, path, format)
	if err != nil {
		return nil, err
	}
	out := make([]Conversation, len(report.Conversations))
	for i, found := range report.Conversations {
		c, err := store.Conversation(ctx, timeline.Local, found.Name)
		if err != nil {
			return nil, err
		}
		out[i].Name = found.Name
		reader := recall.Reader{Conversation: found.Name}
		err = store.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, false, func(e *timeline.Entry) error {
			if m, ok := reader.Read(e); ok {
				m.Block = strconv.FormatInt(e.Place.Depth, 10)
				out[i].Messages = append(out[i].Messages, m)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// imported brings a file into a store.
func imported(ctx context.Context, store timeline.Store, path string, format importer.Format) (*importer.Report, error) {
	report, err := importer.Import(ctx, store, []string{path}, importer.Options{Format: format})
	switch {
	case errors.Is(err, importer.ErrInput):
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	case err != nil:
		return nil, err
	case report.Broken > 0:
		return nil, fmt.Errorf("%w: %s", ErrInput, report.Problems[0])
	}
	return report, nil
}

// folders are the given folder, if it has a file of this name, else those below it.
func folders(path, file string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is no folder", ErrInput, path)
	}
	if _, err := os.Stat(filepath.Join(path, file)); err == nil {
		return []string{path}, nil
	}
	found, err := filepath.Glob(filepath.Join(escape(path), "*", file))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		found, _ = filepath.Glob(filepath.Join(escape(path), "*", "*", file))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: no %s in %s nor in the folders below it", ErrInput, file, path)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	slices.SortFunc(found, natural)
	return found, nil
}

// escape keeps a path from being read as a pattern.
func escape(path string) string {
	var out []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// natural puts 2 before 10.
func natural(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	if a < b {
		return -1
	}
	return 1
}
