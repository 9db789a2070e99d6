package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// checkFolder checks that the data folder exists or can be created, can be
// written to, and is private.
func (d *doctor) checkFolder() []finding {
	const name = "data folder"
	const other = "make it writable for this user, or choose another with --data or $ORIEL_DATA"
	dir, err := d.data.folder()
	if err != nil {
		return []finding{{name, failed, err.Error(), ""}}
	}
	there, missing, err := nearestFolder(dir)
	switch {
	case err != nil:
		return []finding{{name, failed, err.Error(), "give the path of a folder with --data or $ORIEL_DATA"}}
	case writable(there) != nil:
		return []finding{{name, failed, fmt.Sprintf("%s cannot be written to (%v)", there, writable(there)), other}}
	case missing:
		return []finding{{name, fine, dir + " does not exist yet, and can be made", ""}}
	}
	found := fmt.Sprintf("%s, %s, writable", there, term.Bytes(folderSize(dir)))
	if open := openToOthers(dir); open != "" {
		return []finding{{name, warning, found + ", but other users of this machine can read " + open,
			"take their rights away with chmod -R go= " + dir}}
	}
	return []finding{{name, fine, found + ", private", ""}}
}

// nearestFolder returns dir or, if that is missing, the nearest existing
// folder above it.
func nearestFolder(dir string) (there string, missing bool, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", false, err
	}
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return dir, missing, nil
		case err == nil:
			return "", false, fmt.Errorf("%s is not a folder", dir)
		case !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir:
			return "", false, err
		}
		dir, missing = filepath.Dir(dir), true
	}
}

// writable writes a file, because access rights do not reveal full or
// read-only disks.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".oriel-doctor-*")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

func folderSize(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil // what cannot be read is not counted
	})
	return n
}

// openToOthers returns what other users can read: the history's file in a
// folder that they can enter, or "".
func openToOthers(dir string) string {
	info, err := os.Stat(dir)
	if runtime.GOOS == "windows" || err != nil || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	files, _ := filepath.Glob(filepath.Join(dir, "oriel.db*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Mode().Perm()&0o077 != 0 {
			return f
		}
	}
	if info.Mode().Perm()&0o055 != 0 {
		return "the names of its files"
	}
	return ""
}

// lockPatience is how long a writer may hold the history before checkStore
// reports it.
var lockPatience = 2 * time.Second

// checkStore checks that the history opens, has our format, and is not locked.
func (d *doctor) checkStore(ctx context.Context) finding {
	const name = "history"
	url, err := d.data.database()
	if err != nil {
		return finding{name, failed, err.Error(), ""}
	}
	if url != "" {
		return d.checkDatabase(ctx, url)
	}
	path, err := d.data.file()
	switch {
	case errors.Is(err, errNoHistory):
		return finding{name, fine, "none yet", "oriel import or the first call makes it"}
	case err != nil:
		return finding{name, failed, err.Error(), ""}
	}
	format, err := sqlite.Probe(filepath.Dir(path), lockPatience)
	var of *sqlite.Error
	if errors.As(err, &of) {
		return finding{name, failed, fmt.Sprintf("%s %s: %v", of.Op, of.Path, of.Err), of.Hint}
	} else if err != nil {
		return finding{name, failed, err.Error(), "oriel verify reports more"}
	}
	var n timeline.Stats
	if err := d.data.with(ctx, func(s tenantStore) (err error) {
		n, err = s.Stats(ctx, s.tenant)
		return err
	}); err != nil {
		return finding{name, failed, err.Error(), "oriel verify reports what is intact"}
	}
	return finding{name, fine, fmt.Sprintf("opens, format %d, %s in %s, not locked", format,
		term.Plural(int(n.Messages), "message", "messages"),
		term.Plural(int(n.Conversations), "conversation", "conversations")), ""}
}

// databasePatience is how long doctor waits for a database.
const databasePatience = 10 * time.Second

// checkDatabase checks that the database with the history answers, has our tables, and can
// be written to.
func (d *doctor) checkDatabase(ctx context.Context, url string) finding {
	const name = "history"
	ctx, cancel := context.WithTimeout(ctx, databasePatience)
	defer cancel()
	where := postgres.Redact(url)
	s, err := postgres.Open(ctx, url, postgres.Options{MustExist: true})
	var of *timeline.StoreError
	switch {
	case errors.Is(err, timeline.ErrNone):
		return finding{name, fine, "none yet in " + where, "oriel import or the first call makes it"}
	case errors.As(err, &of):
		return finding{name, failed, fmt.Sprintf("%s: %v", of.Path, of.Err), of.Hint}
	case err != nil:
		return finding{name, failed, fmt.Sprintf("%s: %v", where, err), ""}
	}
	defer s.Close()
	p, err := s.Probe(ctx)
	if err != nil {
		return finding{name, failed, err.Error(), "oriel verify reports what is intact"}
	}
	n, err := s.Stats(ctx, timeline.Local)
	if err != nil {
		return finding{name, failed, err.Error(), "oriel verify reports what is intact"}
	}
	f := finding{name, fine, fmt.Sprintf("%s answers in %v, PostgreSQL %s, format %d, %s in %s", where,
		p.RoundTrip.Round(10*time.Microsecond), p.Server, p.Format,
		term.Plural(int(n.Messages), "message", "messages"),
		term.Plural(int(n.Conversations), "conversation", "conversations")), ""}
	switch {
	case !p.Writable:
		f.Status, f.Found, f.Advice = failed, f.Found+", but it cannot be written to",
			"give the URL of the primary, or several hosts with target_session_attrs=read-write"
	case p.Bypasses:
		f.Status, f.Found, f.Advice = warning,
			f.Found+", but this user sees the rows of every tenant whatever the statement",
			"connect as a user without SUPERUSER and BYPASSRLS"
	case !p.Encrypted:
		f.Status, f.Found, f.Advice = warning, f.Found+", but the connection is not encrypted",
			"add sslmode=verify-full to the URL, or keep it if nobody else uses that network"
	}
	return f
}

// Free bytes of a disk below which checkFolder warns or fails.
const (
	littleDisk = 1 << 30
	noDisk     = 50 << 20
)

func (d *doctor) checkDisk() finding {
	const name = "disk"
	dir, err := d.data.folder()
	if err != nil {
		return finding{name, warning, "not checked, because there is no data folder", ""}
	}
	there, _, err := nearestFolder(dir)
	if err != nil {
		return finding{name, warning, "not checked, because there is no data folder", ""}
	}
	free, err := freeDisk(there)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return finding{name, fine, "free space is not known on " + runtime.GOOS, ""}
	case err != nil:
		return finding{name, warning, fmt.Sprintf("free space of %s: %v", there, err), "look into the system's log"}
	}
	return judgeDisk(there, free)
}

func judgeDisk(dir string, free uint64) finding {
	f := finding{"disk", fine, fmt.Sprintf("%s free at %s", term.Bytes(int64(min(free, 1<<62))),
		strings.TrimSuffix(dir, "/")+"/"), ""}
	switch {
	case free < noDisk:
		f.Status, f.Advice = failed, "make room, or calls wait in the spool; oriel prune removes old conversations"
	case free < littleDisk:
		f.Status, f.Advice = warning, "make room soon; oriel prune removes old conversations"
	}
	return f
}
