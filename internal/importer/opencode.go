package importer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// noTables returns the error for a SQLite file that is not a database of a format, or not of
// a version that is known.
func noTables(format Format) error {
	switch format {
	case Goose:
		return errors.New("a SQLite file without Goose's tables sessions and messages")
	case Crush:
		return errors.New("a SQLite file without Crush's tables sessions and messages")
	}
	return errors.New("a SQLite file without opencode's tables session, message and part")
}

// readOpenCode reads sessions of opencode: its database, what opencode export prints, or a
// session's file in the storage of earlier versions, whose messages and parts are files of
// their own.
func readOpenCode(ctx context.Context, s *source, r io.Reader, to taker) error {
	if s.kind.shape == database {
		return s.readDatabase(ctx, to)
	}
	return eachElement(ctx, s, r, to, func(_ int, d document) error {
		info := d.root
		if d.root.Has("messages") {
			info = d.root.Get("info")
		}
		one := openCodeSession{firstName(s.label, info.Get("id")), info.Get("directory").Str(), info.Get("title").Str()}
		if err := one.begin(ctx, to); err != nil {
			return err
		}
		if !d.root.Has("messages") {
			return s.readStorage(ctx, one.id, to)
		}
		for message := range d.root.Get("messages").Elems() {
			if err := to.take(ctx, one.id, s.openCodeMessage(d.raw(message), message.Get("info"))); err != nil {
				return err
			}
		}
		return nil
	})
}

type openCodeSession struct{ id, directory, title string }

func (o *openCodeSession) begin(ctx context.Context, to taker) error {
	if err := to.begin(ctx, o.id, o.directory); err != nil {
		return err
	}
	// A session is called so until a model has found a title.
	if !strings.HasPrefix(o.title, "New session - ") && !strings.HasPrefix(o.title, "Child session - ") {
		to.title(o.id, o.title)
	}
	return nil
}

func (s *source) openCodeMessage(raw []byte, info rawjson.Value) timeline.Message {
	m := timeline.Message{Raw: raw, Format: timeline.FormatOpenCode, Role: info.Get("role").Str(),
		Time: millis(info.Get("time").Get("created"), s.modified)}
	if id := info.Get("id").Str(); fits(id, timeline.MaxRef) {
		m.Ref = id
	}
	return asMessage(m)
}

// readStorage reads the messages of a session from opencode's storage, in the order of
// their ids, which begin with the time. It reports and skips files that it cannot read, and
// reads none outside the storage.
func (s *source) readStorage(ctx context.Context, session string, to taker) error {
	root, err := os.OpenRoot(filepath.Dir(filepath.Dir(filepath.Dir(s.path))))
	if err != nil {
		return err
	}
	defer root.Close()
	st := storage{root, to}
	for _, path := range st.files("message", session) {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, ok := st.read(path)
		if !ok {
			continue
		}
		raw := append([]byte(`{"info":`), info.raw(info.root)...)
		raw = append(raw, `,"parts":[`...)
		comma := ""
		for _, path := range st.files("part", strings.TrimSuffix(filepath.Base(path), ".json")) {
			part, ok := st.read(path)
			if !ok {
				continue
			}
			if len(raw)+len(part.data)+len(",]}") > maxLine {
				to.broken(0, path+": the message is too long with it")
				continue
			}
			raw = append(append(raw, comma...), part.raw(part.root)...)
			comma = ","
		}
		if err := to.take(ctx, session, s.openCodeMessage(append(raw, "]}"...), info.root)); err != nil {
			return err
		}
	}
	return nil
}

// storage is opencode's folder of sessions, messages and parts.
type storage struct {
	root *os.Root
	to   taker
}

// files lists the JSON files of a folder by name. A folder that does not exist has none.
func (st storage) files(kind, name string) (paths []string) {
	if name == "." || name == ".." || filepath.Base(name) != name {
		st.to.broken(0, strconv.Quote(name)+": want the name of a folder")
		return nil
	}
	dir := filepath.Join(kind, name)
	var entries []fs.DirEntry
	f, err := st.root.Open(dir)
	if err == nil {
		entries, err = f.ReadDir(-1)
		f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		st.to.broken(0, dir+": "+cause(err))
	}
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) == ".json" {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(paths)
	return paths
}

// read parses a file.
func (st storage) read(path string) (d document, ok bool) {
	f, err := st.root.Open(path)
	if err != nil {
		st.to.broken(0, path+": "+cause(err))
		return document{}, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(maxLine)+1))
	if err == nil {
		d, err = parseDocument(text)
	}
	if err != nil {
		st.to.broken(0, path+": "+cause(err))
		return document{}, false
	}
	return d, true
}

// openCodeRow is a row of opencode's database: the id of a message or a part, and an object
// that lacks the ids.
type openCodeRow struct {
	id      string
	data    []byte
	tooLong bool // the object is longer than a store accepts, and not in data
}

// openCodeRows makes a message of its rows, as opencode export prints it. It reports and
// leaves out what is not JSON.
func (s *source) openCodeRows(session string, message openCodeRow, parts []openCodeRow,
	to taker) (timeline.Message, bool) {
	object := func(r openCodeRow, ids ...string) []byte {
		d, err := parseDocument(r.data)
		switch {
		case r.tooLong:
			err = brokenLine("more than 256 MiB")
		case len(r.data) == 0:
			err = brokenLine("no data")
		case err == nil && d.root.Kind() != rawjson.Object:
			err = brokenLine("want an object, got " + what(d.root))
		}
		if err != nil {
			to.broken(0, strconv.Quote(r.id)+": "+err.Error())
			return nil
		}
		raw := d.raw(d.root)
		raw = bytes.TrimRight(raw[:len(raw)-1], " \t\r\n")
		for i := 0; i < len(ids); i += 2 {
			if raw[len(raw)-1] != '{' {
				raw = append(raw, ',')
			}
			raw = append(raw, chat.Quote(ids[i])...)
			raw = append(append(raw, ':'), chat.Quote(ids[i+1])...)
		}
		return append(raw, '}')
	}
	info := object(message, "id", message.id, "sessionID", session)
	if info == nil {
		return timeline.Message{}, false
	}
	raw := append([]byte(`{"info":`), info...)
	raw = append(raw, `,"parts":[`...)
	comma := ""
	for _, p := range parts {
		if part := object(p, "id", p.id, "sessionID", session, "messageID", message.id); part != nil {
			raw = append(append(raw, comma...), part...)
			comma = ","
		}
	}
	raw = append(raw, "]}"...)
	d, err := parseDocument(raw)
	if err != nil {
		to.broken(0, strconv.Quote(message.id)+": "+err.Error())
		return timeline.Message{}, false
	}
	return s.openCodeMessage(raw, d.root.Get("info")), true
}

// isOpenCode reports whether an object is a session of opencode.
func isOpenCode(root rawjson.Value) bool {
	info := root
	if root.Get("info").Kind() == rawjson.Object && root.Get("messages").Kind() == rawjson.Array {
		info = root.Get("info")
	}
	return strings.HasPrefix(info.Get("id").Str(), "ses_") && info.Get("directory").Kind() == rawjson.String
}
