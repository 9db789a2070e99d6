package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// ErrInput: the import failed because of its input, not because of the store.
var ErrInput = errors.New("not importable")

// ErrNoFormat: no file has a known format. Such an error is an ErrInput, too.
var ErrNoFormat = errors.New("no known format")

// Options are the settings of an import. The zero value detects formats and
// imports all.
type Options struct {
	// Format is the format of the named files, and the only one imported from
	// folders. Default: each file's content decides.
	Format Format
	// Tenant is the owner of the imported history. Default: timeline.Local.
	Tenant string
	// Conversation is the name to import under; the input must then have one
	// conversation. Default: the name in the input, or the file's.
	Conversation string
	// Project is the project of all conversations. Default: the folder in which a
	// Claude Code session ran.
	Project string
	// Progress, if set, is called with the bytes read so far and in total.
	Progress func(done, total int64)
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Report is the result of an import.
type Report struct {
	Files         int            `json:"files"`
	Bytes         int64          `json:"bytes"`
	Conversations []Conversation `json:"conversations"`
	// Messages counts the messages read, New those that were not in the store,
	// Variants the new forms of messages that were.
	Messages int `json:"messages"`
	New      int `json:"new"`
	Variants int `json:"variants"`
	// Skipped lists files in folders that match no format.
	Skipped []string `json:"skipped,omitempty"`
	// Broken counts what could not be read; Problems holds the first 20.
	Broken   int       `json:"broken"`
	Problems []Problem `json:"problems,omitempty"`
}

// Conversation reports what was read of one conversation.
type Conversation struct {
	Name     string `json:"id"`
	Project  string `json:"project,omitempty"`
	Format   Format `json:"format"`
	Messages int    `json:"messages"`
	New      int    `json:"new"`
	// Branch reports that the import became a branch, because another writer
	// continued the conversation during the import. The conversation's head is the
	// other writer's.
	Branch bool `json:"branch,omitempty"`
	// Recorded reports that Oriel recorded the conversation. What was recorded stays the
	// main line, and the import is a branch.
	Recorded bool `json:"recorded,omitempty"`
}

// Problem is something that could not be imported.
type Problem struct {
	File string `json:"file"`
	// Line counts from 1; it is 0 if the format is not line-based.
	Line int    `json:"line,omitempty"`
	What string `json:"what"`
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.What
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
}

// maxProblems is the number of problems reported individually.
const maxProblems = 20

// Import reads files, and folders with everything in them, into a store. Broken
// lines are listed in the report and are not errors. If an import fails, the
// report covers what was imported before.
func Import(ctx context.Context, store timeline.Store, paths []string, o Options) (*Report, error) {
	if o.Tenant == "" {
		o.Tenant = timeline.Local
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	im := &importing{store: store, options: o, report: &Report{Conversations: []Conversation{}},
		byName: map[string]int{}, heads: map[string]timeline.Place{}}
	sources, err := im.find(ctx, paths)
	if err != nil {
		return im.report, err
	}
	if o.Conversation != "" {
		if err := im.oneConversation(ctx, sources); err != nil {
			return im.report, err
		}
	}
	for _, s := range sources {
		homes, err := im.homes(ctx, s)
		if err != nil {
			return im.report, err
		}
		w := &writer{im: im, source: s, walks: map[string]*walk{}, homes: homes}
		err = s.read(ctx, w, im.progress())
		if err == nil {
			err = w.finish(ctx)
		}
		if err != nil {
			return im.report, err
		}
		im.report.Files++
		im.done += s.size
		im.report.Bytes = im.done
	}
	return im.report, nil
}

// Check reports the files that Import would read, their bytes and what it would leave out
// of folders, or returns the error with which Import would begin. It writes nothing.
func Check(ctx context.Context, paths []string, o Options) (*Report, error) {
	im := &importing{options: o, report: &Report{}}
	sources, err := im.find(ctx, paths)
	im.report.Files, im.report.Bytes = len(sources), im.total
	return im.report, err
}

// importing is the state of one Import.
type importing struct {
	store   timeline.Store
	options Options
	// heads maps conversations to their heads as this import found or left them.
	heads map[string]timeline.Place
	// recorded are the conversations that Oriel recorded; nil until they are read.
	recorded []*recordedSession

	mu          sync.Mutex // protects all below while batches are written
	report      *Report
	byName      map[string]int // conversation → index in the report
	done, total int64          // bytes
}

// progress returns a function that turns the progress of one file into that of
// all.
func (im *importing) progress() func(int64) {
	if im.options.Progress == nil {
		return func(int64) {}
	}
	return func(n int64) { im.options.Progress(im.done+n, im.total) }
}

func (im *importing) problem(p Problem) {
	im.report.Broken++
	if len(im.report.Problems) < maxProblems {
		im.report.Problems = append(im.report.Problems, p)
	}
}

// conversation returns the report's entry for a conversation.
func (im *importing) conversation(name, project string, f Format) *Conversation {
	i, ok := im.byName[name]
	if !ok {
		i = len(im.report.Conversations)
		im.byName[name] = i
		im.report.Conversations = append(im.report.Conversations, Conversation{Name: name, Project: project, Format: f})
	}
	return &im.report.Conversations[i]
}

// wrote adds the result of a batch to the report.
func (im *importing) wrote(k *walk, a *timeline.Applied) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.report.New += a.New.Messages
	im.report.Variants += a.New.Variants
	im.conversation(k.name, k.project, k.w.source.kind.format).New += a.New.Messages
}

// recordedBefore notes in the report that Oriel recorded a conversation.
func (im *importing) recordedBefore(k *walk) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.conversation(k.name, k.project, k.w.source.kind.format).Recorded = true
}

// branched notes in the report that the import of a conversation became a branch.
func (im *importing) branched(k *walk) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.conversation(k.name, k.project, k.w.source.kind.format).Branch = true
}

// oneConversation returns an error if the input contains several conversations,
// which cannot be imported under one name.
func (im *importing) oneConversation(ctx context.Context, sources []*source) error {
	names := &namesOnly{}
	for _, s := range sources {
		if err := s.read(ctx, names, func(int64) {}); err != nil {
			return err
		}
	}
	if len(names.names) > 1 {
		return fmt.Errorf("%w under one name: the input has the conversations %q, %q …; omit --conversation, or give a file with one conversation", ErrInput, names.names[0], names.names[1])
	}
	return nil
}

// taker receives the content of a file, in order.
type taker interface {
	// begin starts a conversation at its first message. take does so too if the
	// conversation has not begun.
	begin(ctx context.Context, conversation, project string) error
	take(ctx context.Context, conversation string, m timeline.Message) error
	// title receives the title that the file gives a conversation that has begun; empty
	// if it gives none.
	title(conversation, title string)
	// call receives the rest of the request whose messages end here.
	call(ctx context.Context, conversation string, c call) error
	// broken reports something that cannot be read.
	broken(line int, what string)
}

// namesOnly collects the names of at most two conversations.
type namesOnly struct{ names []string }

func (n *namesOnly) begin(_ context.Context, conversation, _ string) error {
	if len(n.names) == 0 || len(n.names) == 1 && n.names[0] != conversation {
		n.names = append(n.names, conversation)
	}
	return nil
}

func (n *namesOnly) take(ctx context.Context, conversation string, _ timeline.Message) error {
	return n.begin(ctx, conversation, "")
}
func (n *namesOnly) title(string, string)                     {}
func (n *namesOnly) call(context.Context, string, call) error { return nil }
func (n *namesOnly) broken(int, string)                       {}

// counter counts and reports the bytes read.
type counter struct {
	r    io.Reader
	n    int64
	tell func(int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}

// read passes a file's messages to a taker.
func (s *source) read(ctx context.Context, to taker, tell func(int64)) error {
	f, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	defer f.Close()
	r := &counter{r: f, tell: tell}
	err = s.kind.format.reader()(ctx, s, r, to)
	if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	return err
}
