package importer

import (
	"context"
	"os"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// A File is a file that can be imported, for callers that read it without a store.
type File struct {
	// Path is the file's path, Size its bytes.
	Path string
	Size int64
	// Modified is when the file was last written.
	Modified time.Time
	Format   Format

	source *source
}

// Files lists the files below paths that Import would read, in its order. The report has
// what cannot be read and what has no known format.
func Files(ctx context.Context, paths []string, o Options) ([]File, *Report, error) {
	im := &importing{options: o, report: &Report{}}
	sources, err := im.find(ctx, paths)
	var files []File
	for _, s := range sources {
		files = append(files, File{s.path, s.size, s.modified, s.kind.format, s})
	}
	im.report.Files, im.report.Bytes = len(files), im.total
	return files, im.report, err
}

// A Reader receives the entries of a file, in order.
type Reader interface {
	// Begin begins a conversation, or another request body of one that has begun.
	Begin(conversation, project string) error
	// Entry receives an entry. The reader owns its bytes.
	Entry(conversation string, m *timeline.Message) error
	// Request ends a request body whose messages were the entries since Begin.
	Request(conversation string, r Request) error
	// Broken reports something that cannot be read.
	Broken(Problem)
}

// A Request is what a request body has besides its messages. System and Tools are the
// bytes of these members, nil without them.
type Request struct {
	Model         string
	System, Tools []byte
}

// Read passes the entries of the file to a reader. What is broken is reported and skipped.
// progress is called with the bytes read so far.
func (f *File) Read(ctx context.Context, to Reader, progress func(int64)) error {
	info, err := os.Stat(f.Path)
	if err == nil {
		f.source.size = info.Size()
	}
	return f.source.read(ctx, &reading{to: to, path: f.Path, begun: map[string]bool{}}, progress)
}

// reading is the taker of Read.
type reading struct {
	to    Reader
	path  string
	begun map[string]bool
}

func (r *reading) begin(_ context.Context, conversation, project string) error {
	r.begun[conversation] = true
	return r.to.Begin(conversation, project)
}

func (r *reading) take(ctx context.Context, conversation string, m timeline.Message) error {
	if !r.begun[conversation] {
		if err := r.begin(ctx, conversation, ""); err != nil {
			return err
		}
	}
	return r.to.Entry(conversation, &m)
}

func (r *reading) title(string, string) {}

func (r *reading) call(_ context.Context, conversation string, c call) error {
	out, rest := Request{Model: c.Model}, c.contents
	if c.System != "" {
		out.System, rest = rest[0], rest[1:]
	}
	if c.Tools != "" {
		out.Tools = rest[0]
	}
	return r.to.Request(conversation, out)
}

func (r *reading) broken(line int, what string) {
	r.to.Broken(Problem{File: r.path, Line: line, What: what})
}
