package importer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// readOpenCode reads a session of opencode: what opencode export prints, or a session's
// file in its storage, whose messages and parts are files of their own.
func readOpenCode(ctx context.Context, s *source, r io.Reader, to taker) error {
	return eachElement(ctx, s, r, to, func(_ int, d document) error {
		info := d.root
		if d.root.Has("messages") {
			info = d.root.Get("info")
		}
		name := firstName(s.label, info.Get("id"))
		if err := to.begin(ctx, name, info.Get("directory").Str()); err != nil {
			return err
		}
		if !d.root.Has("messages") {
			return s.readStorage(ctx, name, to)
		}
		for message := range d.root.Get("messages").Elems() {
			if err := to.take(ctx, name, s.openCodeMessage(d.raw(message), message.Get("info"))); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *source) openCodeMessage(raw []byte, info rawjson.Value) timeline.Message {
	m := timeline.Message{Raw: raw, Format: timeline.FormatOpenCode, Role: info.Get("role").Str(), Time: millis(info.Get("time").Get("created"), s.modified)}
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

// isOpenCode reports whether an object is a session of opencode.
func isOpenCode(root rawjson.Value) bool {
	info := root
	if root.Get("info").Kind() == rawjson.Object && root.Get("messages").Kind() == rawjson.Array {
		info = root.Get("info")
	}
	return strings.HasPrefix(info.Get("id").Str(), "ses_") && info.Get("directory").Kind() == rawjson.String
}
