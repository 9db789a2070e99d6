package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/call/spool"
)

func entry(meta string, blobs ...string) spool.Entry {
	e := spool.Entry{Meta: []byte(meta), Blobs: [][]byte{}}
	for _, b := range blobs {
		e.Blobs = append(e.Blobs, []byte(b))
	}
	return e
}

func open(t testing.TB, dir string, o spool.Options) *spool.Spool {
	t.Helper()
	if o.Problem == nil {
		o.Problem = func(err error) { t.Error(err) }
	}
	s := spool.Open(dir, o)
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t testing.TB, s *spool.Spool, all ...spool.Entry) {
	t.Helper()
	for _, e := range all {
		if err := s.Append(e); err != nil {
			t.Fatal(err)
		}
	}
}

// take returns what waits and, if done, removes it.
func take(t testing.TB, s *spool.Spool) (all []spool.Entry) {
	t.Helper()
	for s.Stats().Entries > 0 {
		found, err := s.First(context.Background(), 2)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
		s.Done(len(found))
	}
	return all
}

func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, f := range found {
		names = append(names, f.Name())
	}
	return names
}

func TestEntriesComeBackInOrderAndTheirFilesGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir, spool.Options{})
	if files(t, dir) != nil {
		t.Error("an empty spool has files")
	}
	all := []spool.Entry{entry("1", "a", "b"), entry("2"), entry("", "", "b"), entry("4", strings.Repeat("x", 100000))}
	add(t, s, all...)
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, files(t, dir)[0]): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Error(info.Mode(), err)
			}
		}
	}
	if diff := cmp.Diff(all, take(t, s)); diff != "" {
		t.Error(diff)
	}
	if got := s.Stats(); got != (spool.Stats{}) || files(t, dir) != nil {
		t.Errorf("%+v, %v", got, files(t, dir))
	}
	add(t, s, all[0])
	if diff := cmp.Diff(all[:1], take(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestFirstWaitsForAnEntry(t *testing.T) {
	s := open(t, t.TempDir(), spool.Options{})
	got := make(chan spool.Entry)
	go func() {
		found, _ := s.First(context.Background(), 9)
		got <- found[0]
	}()
	add(t, s, entry("1"))
	if e := <-got; string(e.Meta) != "1" {
		t.Error(e)
	}
	s.Done(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.First(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.Close()
	if _, err := s.First(t.Context(), 1); !errors.Is(err, spool.ErrClosed) {
		t.Error(err)
	}
	if err := s.Append(entry("2")); !errors.Is(err, spool.ErrClosed) {
		t.Error(err)
	}
}

func TestBytesThatEntriesShareAreThereOnce(t *testing.T) {
	s := open(t, t.TempDir(), spool.Options{})
	history := strings.Repeat("said before ", 1000)
	for i := range 100 {
		add(t, s, entry(fmt.Sprint(i), history, fmt.Sprint("new ", i)))
	}
	if got := s.Stats(); got.Bytes > 20000 || got.Entries != 100 {
		t.Errorf("%+v", got)
	}
}

func TestWhatDoesNotFitIsRefusedAndCounted(t *testing.T) {
	s := open(t, t.TempDir(), spool.Options{MaxBytes: 1000})
	large := entry("large", strings.Repeat("x", 2000))
	if err := s.Append(large); !errors.Is(err, spool.ErrFull) {
		t.Error(err)
	}
	n := 0
	for ; s.Append(entry("e", strings.Repeat(fmt.Sprint(n), 100))) == nil; n++ {
	}
	if got := s.Stats(); n < 5 || got.Entries != n || got.Bytes > 1000 || got.Dropped != 2 {
		t.Errorf("%d, %+v", n, got)
	}
	take(t, s)
	add(t, s, entry("again"))
}

func TestTwoProcessesShareAFolder(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, spool.Options{}), open(t, dir, spool.Options{})
	add(t, a, entry("a1"))
	add(t, b, entry("b1"))
	third := open(t, dir, spool.Options{})
	if third.Stats().Entries != 0 {
		t.Error("it took over files of processes that are there")
	}
	spool.CrashForTest(a)
	fourth := open(t, dir, spool.Options{})
	if diff := cmp.Diff([]spool.Entry{entry("a1")}, take(t, fourth)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]spool.Entry{entry("b1")}, take(t, b)); diff != "" {
		t.Error(diff)
	}
	if got := files(t, dir); got != nil {
		t.Error(got)
	}
}

// A file that ends anywhere gives the entries that are whole, in order, and no other.
func TestAFileCutAtAnyByte(t *testing.T) {
	dir := t.TempDir()
	all := []spool.Entry{entry("1", "aaaa", "b"), entry("2", "aaaa"), entry(""),
		entry("4", "", "b", strings.Repeat("c", 50))}
	s := open(t, dir, spool.Options{})
	ends := []int64{}
	for _, e := range all {
		add(t, s, e)
		ends = append(ends, s.Stats().Bytes)
	}
	spool.CrashForTest(s)
	name := files(t, dir)[0]
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || int64(len(data)) != ends[len(ends)-1] {
		t.Fatal(len(data), ends, err)
	}
	for n := range len(data) + 1 {
		whole := 0
		for whole < len(ends) && ends[whole] <= int64(n) {
			whole++
		}
		other := t.TempDir()
		if err := os.WriteFile(filepath.Join(other, name), data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, other, spool.Options{})
		if diff := cmp.Diff(all[:whole], take(t, s),
			cmp.Comparer(func(a, b []spool.Entry) bool { return slices.EqualFunc(a, b, same) })); diff != "" {
			t.Fatalf("cut at %d: %s", n, diff)
		}
		if left := files(t, other); left != nil {
			t.Fatalf("cut at %d: %v is left", n, left)
		}
		s.Close()
	}
}

func same(a, b spool.Entry) bool {
	return bytes.Equal(a.Meta, b.Meta) && slices.EqualFunc(a.Blobs, b.Blobs, bytes.Equal)
}

// A flipped bit never changes what comes back: entries before it come, and the file is kept
// for people.
func TestADamagedFileIsReportedAndKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, spool.Options{})
	add(t, s, entry("1", "a"), entry("2", "b"), entry("3", "c"))
	spool.CrashForTest(s)
	name := files(t, dir)[0]
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(data) * 8 {
		other := t.TempDir()
		damaged := bytes.Clone(data)
		damaged[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(filepath.Join(other, name), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		problems := 0
		s := open(t, other, spool.Options{Problem: func(error) { problems++ }})
		got := take(t, s)
		s.Close()
		for i, e := range got {
			if string(e.Meta) != fmt.Sprint(i+1) || string(e.Blobs[0]) != string('a'+rune(i)) {
				t.Fatalf("bit %d: %q", bit, e)
			}
		}
		// A longer length looks like an end that is missing.
		if len(got) == 3 || problems == 0 && len(files(t, other)) > 0 || problems > 0 && len(files(t, other)) != 1 {
			t.Fatalf("bit %d: %d entries, %d problems, %v", bit, len(got), problems, files(t, other))
		}
	}
}

// failing is a file on a disk that is full after some bytes.
type failing struct {
	spool.File
	room *int
}

func (f failing) WriteAt(p []byte, at int64) (int, error) {
	if *f.room >= len(p) {
		*f.room -= len(p)
		return f.File.WriteAt(p, at)
	}
	n, _ := f.File.WriteAt(p[:*f.room], at)
	*f.room = 0
	return n, syscall.ENOSPC
}

// Random appends, reads and crashes, on a disk that is full at times: what was accepted
// comes back in order until it is done; after a crash a part of what was done may come
// again before the rest; what was refused never comes.
func TestNothingAcceptedIsLostOrReordered(t *testing.T) {
	room := 1 << 30
	spool.FilesForTest(t.Cleanup, func(f spool.File) spool.File { return failing{f, &room} })
	rapid.Check(t, func(r *rapid.T) {
		room = 1 << 30
		dir := t.TempDir()
		defer os.RemoveAll(dir)
		o := spool.Options{
			SegmentBytes: int64(rapid.IntRange(1, 300).Draw(r, "segment")),
			MaxBytes:     int64(rapid.IntRange(100, 3000).Draw(r, "max")),
			Sync:         rapid.Bool().Draw(r, "sync"), Problem: func(err error) { r.Error(err) },
		}
		s := spool.Open(dir, o)
		defer func() { s.Close() }()
		var accepted []spool.Entry // all of them
		done := 0
		n := 0
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				n++
				e := entry(fmt.Sprint(n),
					rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "bb", strings.Repeat("c", 40)}), 0, 3).Draw(r,
						"blobs")...)
				if s.Append(e) == nil {
					accepted = append(accepted, e)
				}
			},
			"first": func(r *rapid.T) {
				if done == len(accepted) {
					return
				}
				most := rapid.IntRange(1, 4).Draw(r, "most")
				found, err := s.First(context.Background(), most)
				if err != nil {
					r.Fatal(err)
				}
				if want := accepted[done:min(len(accepted), done+most)]; !slices.EqualFunc(found, want, same) {
					r.Fatalf("%q came, want %q", found, want)
				}
				n := rapid.IntRange(0, len(found)).Draw(r, "done")
				s.Done(n)
				done += n
			},
			"disk": func(r *rapid.T) {
				room = rapid.SampledFrom([]int{0, 7, 30, 1 << 30}).Draw(r, "room")
			},
			"crash": func(r *rapid.T) {
				if rapid.Bool().Draw(r, "orderly") {
					s.Close()
				} else {
					spool.CrashForTest(s)
				}
				s = spool.Open(dir, o)
				// Those that were done and come again.
				again := s.Stats().Entries - (len(accepted) - done)
				if again < 0 || again > done {
					r.Fatalf("%d come back of %d, of which %d are done", s.Stats().Entries, len(accepted), done)
				}
				done -= again
			},
			"": func(r *rapid.T) {
				if got := s.Stats(); got.Entries != len(accepted)-done || got.Bytes > max(o.MaxBytes, 0) {
					r.Fatalf("%+v of %d, %d done", got, len(accepted), done)
				}
			},
		})
		room = 1 << 30
		if rest := take(t, s); !slices.EqualFunc(rest, accepted[done:], same) {
			r.Fatalf("%q came, want %q", rest, accepted[done:])
		}
		if left := files(t, dir); left != nil {
			r.Fatal(left)
		}
	})
}

func FuzzScan(f *testing.F) {
	dir := f.TempDir()
	s := open(f, dir, spool.Options{})
	add(f, s, entry("1", "a", "b"), entry("2", "a"), entry("", ""))
	spool.CrashForTest(s)
	data, err := os.ReadFile(filepath.Join(dir, files(f, dir)[0]))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add([]byte("ORSPOOL1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, size, err := spool.ScanForTest(data)
		if size > int64(len(data)) || err == nil && size != int64(len(data)) {
			t.Fatal(size, len(data), err)
		}
		again, _, err := spool.ScanForTest(data[:size])
		if size > 0 && err != nil || !slices.EqualFunc(all, again, same) {
			t.Fatal(err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s := open(b, b.TempDir(), spool.Options{})
	history := strings.Repeat("said before ", 10000)
	for b.Loop() {
		add(b, s, entry(time.Now().String(), history))
	}
}
