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

// ErrInput: the input, and not the store, is why an import failed.
var ErrInput = errors.New("not importable")

// Options are the settings of an import. Their zero value reads whatever there is.
type Options struct {
	// Format is what named files are read as, and the only kind of files that is
	// taken from folders. Default: each file's content decides.
	Format Format
	// Tenant is whose history it becomes. Default timeline.Local.
	Tenant string
	// Conversation is the name to import under. It needs input with one
	// conversation. Default: the one that the input names, or that of the file.
	Conversation string
	// Project is set for all conversations. Default: the folder that a Claude
	// Code session ran in.
	Project string
	// Progress, where it is set, is told how many bytes of how many are read.
	Progress func(done, total int64)
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Report is what came of an import.
type Report struct {
	Files         int            `json:"files"`
	Bytes         int64          `json:"bytes"`
	Conversations []Conversation `json:"conversations"`
	// Messages were read, New of them were not there before, and Variants are
	// new forms of messages that were.
	Messages int `json:"messages"`
	New      int `json:"new"`
	Variants int `json:"variants"`
	// Skipped are files in folders that no format fits.
	Skipped []string `json:"skipped,omitempty"`
	// Broken counts what could not be read; Problems are the first 20 of them.
	Broken   int       `json:"broken"`
	Problems []Problem `json:"problems,omitempty"`
}

// Conversation is what was read of one conversation.
type Conversation struct {
	Name     string `json:"name"`
	Project  string `json:"project,omitempty"`
	Format   Format `json:"format"`
	Messages int    `json:"messages"`
	New      int    `json:"new"`
	// Branch says that what was read is a branch, for somebody else went on with
	// the conversation during the import, which now stands where they left it.
	Branch bool `json:"branch,omitempty"`
}

// Problem is something that could not be imported.
type Problem struct {
	File string `json:"file"`
	// Line counts from 1; 0 where the file has no lines that mean something.
	Line int    `json:"line,omitempty"`
	What string `json:"what"`
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.What
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
}

// maxProblems is how many problems are told one by one.
const maxProblems = 20

// Import reads files, and folders with all that is in them, into a store. Broken
// lines are no error but in the report. The report tells also of an import that
// failed what was done before.
func Import(ctx context.Context, store timeline.Store, paths []string, o Options) (*Report, error) {
	if o.Tenant == "" {
		o.Tenant = timeline.Local
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	im := &importing{store: store, options: o, report: &Report{Conversations: []Conversation{}}, byName: map[string]int{}, heads: map[string]timeline.Place{}}
	sources, err := im.find(paths)
	if err != nil {
		return im.report, err
	}
	if o.Conversation != "" {
		if err := im.oneConversation(ctx, sources); err != nil {
			return im.report, err
		}
	}
	for _, s := range sources {
		w := &writer{im: im, source: s, walks: map[string]*walk{}}
		err := s.read(ctx, w, im.progress())
		if err == nil {
			err = w.close(ctx)
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

// Check reports whether there is anything to import, and writes nothing: an error
// that Import would begin with.
func Check(paths []string, o Options) error {
	im := &importing{options: o, report: &Report{}}
	_, err := im.find(paths)
	return err
}

// importing is the state of one Import.
type importing struct {
	store   timeline.Store
	options Options
	// heads are those of the conversations as this import found or left them.
	heads map[string]timeline.Place

	mu          sync.Mutex // protects all below while batches are written
	report      *Report
	byName      map[string]int // conversation → index in the report
	done, total int64          // bytes
}

// progress makes what is told of a file's bytes into what is told of all.
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

// conversation is the report's line for a conversation.
func (im *importing) conversation(name, project string, f Format) *Conversation {
	i, ok := im.byName[name]
	if !ok {
		i = len(im.report.Conversations)
		im.byName[name] = i
		im.report.Conversations = append(im.report.Conversations, Conversation{Name: name, Project: project, Format: f})
	}
	return &im.report.Conversations[i]
}

// wrote counts what a batch came to.
func (im *importing) wrote(k *walk, a *timeline.Applied) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.report.New += a.New.Messages
	im.report.Variants += a.New.Variants
	im.conversation(k.name, k.project, k.w.source.kind.format).New += a.New.Messages
}

// branched notes that what was read of a conversation is a branch.
func (im *importing) branched(k *walk) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.conversation(k.name, k.project, k.w.source.kind.format).Branch = true
}

// oneConversation reads the input for the names in it: more than one cannot be
// imported under a single name.
func (im *importing) oneConversation(ctx context.Context, sources []*source) error {
	names := &namesOnly{}
	for _, s := range sources {
		if err := s.read(ctx, names, func(int64) {}); err != nil {
			return err
		}
	}
	if len(names.names) > 1 {
		return fmt.Errorf("%w under one name: the input has the conversations %q, %q …: leave out --conversation, or give one file of one conversation", ErrInput, names.names[0], names.names[1])
	}
	return nil
}

// taker takes what a file says, in order.
type taker interface {
	// begin starts the conversation from its first message on. Taking a message
	// of a conversation that has not begun begins it.
	begin(ctx context.Context, conversation, project string) error
	take(ctx context.Context, conversation string, m timeline.Message) error
	// call tells what stood beside the messages of the request that ends here.
	call(ctx context.Context, conversation string, c call) error
	// broken tells of something that cannot be read.
	broken(line int, what string)
}

// namesOnly notes the names of two conversations at most.
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
func (n *namesOnly) call(context.Context, string, call) error { return nil }
func (n *namesOnly) broken(int, string)                       {}

// counter counts the bytes that are read, and tells.
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

// read gives a file's messages to a taker.
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
