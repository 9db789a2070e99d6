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

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// Errors of Load and of options.
var (
	// ErrInput reports input that is not a set of the given format.
	ErrInput = errors.New("not a set of questions")
	// ErrOption reports an invalid option.
	ErrOption = errors.New("nothing can be measured")
)

// A Set is conversations with questions about them.
type Set struct {
	Format        string
	Conversations []Conversation
	// Unknown counts the pieces of evidence that no conversation contains.
	Unknown int
}

// A Conversation is messages with questions about them.
type Conversation struct {
	Name      string
	Messages  []recall.Message
	Questions []Question
}

// A Question is asked about a conversation.
type Question struct {
	ID   string
	Kind string
	Text string
	// Evidence are the refs of the messages that the answer needs. Questions
	// without evidence are not counted.
	Evidence []string
	// Aside marks a question that is listed but is not part of the main
	// figure.
	Aside bool
	// Answer is the gold answer, or "" if the set has none. Unanswerable means
	// that the right answer is that there is none.
	Answer       string
	Unanswerable bool
	// Said is how many messages precede the question. 0 means all.
	Said int
	// Gone, if not 0, is how many of those messages the window no longer
	// shows. The others are not recalled (SPEC D3).
	Gone int
	// File is a file that is read again, and Folder the folder of the session.
	// Evidence are then the messages that show the file, and any one of them
	// suffices. Lines are the lines that the second reading returns.
	File, Folder string
	Lines        []string
}

// Load reads a set: files of LoCoMo's schema, folders of BEAM chats, folders
// or files of the generic format with a questions.jsonl beside them, or
// folders or files of Claude Code's sessions.
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
		if format == "generic" && len(unknown) > 0 { // our own format, so the author can fix it
			return nil, fmt.Errorf("%w: %s: %s names the evidence %q, but no message has this ref", ErrInput, c.Name,
				unknown[0][0], unknown[0][1])
		}
	}
	return set, nil
}

// known removes evidence that the conversation does not contain, because a
// wrong label cannot be found by anyone. It returns what it removed, each with
// its question's id.
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

// gold is an answer. Numbers are kept as they are written.
type gold string

// UnmarshalJSON accepts any value.
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

// told reads the conversations of a file in order.
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

// imported imports a file into a store.
func imported(ctx context.Context, store timeline.Store, path string,
	format importer.Format) (*importer.Report, error) {
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

// folders returns the given folder if it contains a file of this name, else
// the folders below it that do.
func folders(path, file string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is not a folder", ErrInput, path)
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
		return nil, fmt.Errorf("%w: no %s in %s or in the folders below it", ErrInput, file, path)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	slices.SortFunc(found, natural)
	return found, nil
}

// escape makes a path match only itself as a pattern.
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

// natural compares names so that 2 comes before 10.
func natural(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	if a < b {
		return -1
	}
	return 1
}
