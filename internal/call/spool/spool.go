package spool

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	// ErrFull: the entry does not fit into what the spool may take of the disk.
	ErrFull = errors.New("the spool is full")
	// ErrClosed: the spool has been closed.
	ErrClosed = errors.New("the spool is closed")
)

// Options configures a spool. The zero value is useful.
type Options struct {
	// MaxBytes bounds the files of entries that wait, including those that another process
	// left. Default: 1 GiB.
	MaxBytes int64
	// SegmentBytes is the size from which a new file is begun. A file is deleted when
	// all of its entries are done. Default: 16 MiB.
	SegmentBytes int64
	// Sync makes Append wait for the disk.
	Sync bool
	// Problem, if set, is told of files that cannot be read wholly.
	Problem func(error)
}

// Entry is what waits: Meta, and bytes that other entries may have, too.
type Entry struct {
	Meta  []byte
	Blobs [][]byte
}

// Stats describes a spool.
type Stats struct {
	// Entries wait, and their files take Bytes.
	Entries int
	Bytes   int64
	// Kept entries wait for the next process; see Keep.
	Kept int
	// Dropped counts entries that Append refused since Open.
	Dropped int64
}

// Spool is a queue on disk. It is safe for concurrent use by several writers and one
// reader.
type Spool struct {
	dir  string
	o    Options
	name string // begins the names of this process's files

	mu       sync.Mutex // protects what follows
	segments []*segment // oldest first; the last one may be open for writing
	writing  *segment   // nil if there is none
	kept     []*segment // of Keep
	made     int        // segments
	stats    Stats
	more     chan struct{} // closed when an entry is added
	closed   bool
}

// suffix ends the names of files; damaged ones get another, and are left alone.
const suffix, damagedSuffix = ".spool", ".damaged"

// Open returns the spool in a folder, which need not exist: the first entry creates it.
// Open takes over what processes that are gone have left there. A folder that cannot be
// read is reported to Options.Problem.
func Open(dir string, o Options) *Spool {
	o.MaxBytes, o.SegmentBytes = cmp.Or(o.MaxBytes, 1<<30), cmp.Or(o.SegmentBytes, 16<<20)
	if o.Problem == nil {
		o.Problem = func(error) {}
	}
	s := &Spool{dir: dir, o: o, more: make(chan struct{})}
	// Names sort by the time at which their process began.
	s.name = fmt.Sprintf("%016x-%s", time.Now().UnixNano(), strings.ToLower(rand.Text()[:8]))
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.Problem(fmt.Errorf("read the spool: %w", err))
	}
	for _, name := range names { // sorted
		if strings.HasSuffix(name.Name(), suffix) && name.Type().IsRegular() {
			if err := s.takeOver(filepath.Join(dir, name.Name())); err != nil {
				o.Problem(err)
			}
		}
	}
	return s
}

// takeOver adds a file that another process has left.
func (s *Spool) takeOver(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // its process has just finished it
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if locked := err == nil && lock(f); !locked {
		return errors.Join(err, f.Close()) // its process is there
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(now, info) {
		return f.Close() // deleted before it was locked
	}
	if info, err = f.Stat(); err != nil {
		return errors.Join(err, f.Close())
	}
	g := &segment{path: path, file: f, full: true}
	g.contents, err = scan(f, info.Size())
	if err != nil && !errors.Is(err, errTorn) {
		// The rest may be of use to a person.
		s.o.Problem(fmt.Errorf("%s: %w: what follows is kept in %s", path, err, path+damagedSuffix))
		if bad := copyFile(path, path+damagedSuffix); bad != nil {
			return errors.Join(bad, f.Close())
		}
	}
	if len(g.entries) == 0 {
		return g.remove()
	}
	s.segments = append(s.segments, g)
	s.stats.Entries += len(g.entries)
	s.stats.Bytes += g.size
	return nil
}

// copyFile copies a file to a new one that only its owner can read.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// Append adds an entry at the end.
func (s *Spool) Append(e Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if err := s.add(e); err != nil {
		s.stats.Dropped++
		return err
	}
	s.stats.Entries++
	close(s.more)
	s.more = make(chan struct{})
	return nil
}

func (s *Spool) add(e Entry) error {
	w := s.writing
	fresh := w == nil || w.full || w.size >= s.o.SegmentBytes
	size := int64(len(e.Meta)+6*(1+len(e.Blobs))) + frameHead
	if fresh {
		size += int64(len(magic))
	}
	for _, b := range e.Blobs {
		if fresh || !w.has(b) {
			size += int64(len(b)) + frameHead
		}
	}
	if s.stats.Bytes+size > s.o.MaxBytes {
		return fmt.Errorf("%w: %d bytes wait, and %d more would be over the limit of %d", ErrFull, s.stats.Bytes, size,
			s.o.MaxBytes)
	}
	if fresh {
		g, err := s.begin()
		if err != nil {
			return err
		}
		s.segments, s.writing = append(s.segments, g), g
	}
	n, err := s.writing.add(e, s.o.Sync)
	s.stats.Bytes += n
	if err != nil {
		if s.writing.left() == 0 {
			s.discard(s.writing)
		}
		return fmt.Errorf("write to the spool: %w", err)
	}
	return nil
}

// Keep sets an entry aside that this program cannot read, because a newer one wrote it: First
// does not return it again, and the next process that opens the folder takes it over.
func (s *Spool) Keep(e Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if n := len(s.kept); n == 0 || s.kept[n-1].full {
		g, err := s.begin()
		if err != nil {
			return err
		}
		s.kept = append(s.kept, g)
	}
	n, err := s.kept[len(s.kept)-1].add(e, s.o.Sync)
	s.stats.Bytes += n
	if err != nil {
		return fmt.Errorf("write to the spool: %w", err)
	}
	s.stats.Kept++
	return nil
}

// has reports whether bytes are among the blobs.
func (s *segment) has(b []byte) bool {
	_, ok := s.numbers[sha256.Sum256(b)]
	return ok
}

// begin begins a new file.
func (s *Spool) begin() (*segment, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the spool: %w", err)
	}
	s.made++
	path := filepath.Join(s.dir, fmt.Sprintf("%s-%06d%s", s.name, s.made, suffix))
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("make the spool: %w", err)
	}
	g := &segment{path: path, file: f, numbers: map[[sha256.Size]byte]int{},
		contents: contents{size: int64(len(magic))}}
	_, err = f.WriteAt([]byte(magic), 0)
	if err == nil && s.o.Sync {
		err = syncDir(s.dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the spool: %w", err), g.remove())
	}
	s.stats.Bytes += g.size
	return g, nil
}

// openFile makes a new file and locks it. Tests have files that fail.
var openFile = func(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if !lock(f) { // another process took it for one that was left
		return nil, errors.Join(fmt.Errorf("%s is locked", path), f.Close())
	}
	return f, nil
}

// First returns the oldest entries, at most so many, and waits until there is one. Of
// several it returns about 8 MiB at most. They stay until Done. An entry that cannot be read
// is lost and reported to Options.Problem.
func (s *Spool) First(ctx context.Context, most int) ([]Entry, error) {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, ErrClosed
		}
		found, more := s.first(most), s.more
		s.mu.Unlock()
		if len(found) > 0 {
			return found, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// maxFirst is about how many bytes First returns.
const maxFirst = 8 << 20

func (s *Spool) first(most int) (found []Entry) {
	size := 0
	for i := 0; i < len(s.segments); {
		g := s.segments[i]
		for n := g.done; n < len(g.entries); {
			if len(found) == most || size > maxFirst {
				return found
			}
			e, err := g.entry(g.entries[n])
			if err == nil {
				found = append(found, e)
				size += e.size()
				n++
				continue
			}
			s.o.Problem(fmt.Errorf("%s: an entry is lost: %w", g.path, err))
			s.stats.Dropped++
			s.stats.Entries--
			g.entries = slices.Delete(g.entries, n, n+1)
		}
		if g.left() == 0 && g != s.writing {
			s.discard(g)
			continue
		}
		i++
	}
	return found
}

func (e *Entry) size() int {
	n := len(e.Meta)
	for _, b := range e.Blobs {
		n += len(b)
	}
	return n
}

// Done removes the oldest entries, so many that First returned.
func (s *Spool) Done(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; n > 0 && !s.closed && s.stats.Entries > 0; n-- {
		s.forget(s.oldest())
	}
}

// oldest returns the segment of the oldest entry; there is one.
func (s *Spool) oldest() *segment {
	i := slices.IndexFunc(s.segments, func(g *segment) bool { return g.left() > 0 })
	return s.segments[i]
}

// forget removes the oldest entry of a segment, and the segment with the last one.
func (s *Spool) forget(g *segment) {
	g.done++
	s.stats.Entries--
	if g.left() == 0 {
		s.discard(g)
	}
}

// discard deletes a segment without entries.
func (s *Spool) discard(g *segment) {
	s.segments = slices.DeleteFunc(s.segments, func(o *segment) bool { return o == g })
	if s.writing == g {
		s.writing = nil
	}
	s.stats.Bytes -= g.size
	if err := g.remove(); err != nil {
		s.o.Problem(fmt.Errorf("a file of the spool whose entries are done cannot be deleted, they are done again: %w",
			err))
	}
}

// Stats returns the state of the spool.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Close gives up the files. What waits stays for the next process.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.more)
	var errs []error
	for _, g := range slices.Concat(s.segments, s.kept) {
		if g.left() == 0 {
			errs = append(errs, g.remove())
		} else {
			errs = append(errs, g.file.Close())
		}
	}
	return errors.Join(errs...)
}
