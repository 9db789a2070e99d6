package importer

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
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
// their ids, which begin with the time.
func (s *source) readStorage(ctx context.Context, session string, to taker) error {
	if filepath.Base(session) != session {
		return brokenLine("id: want the name of a folder")
	}
	storage := filepath.Dir(filepath.Dir(filepath.Dir(s.path)))
	messages, err := jsonFiles(filepath.Join(storage, "message", session))
	if err != nil {
		return err
	}
	for _, path := range messages {
		info, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		d, err := parseDocument(info)
		if err != nil {
			to.broken(0, filepath.Base(path)+": "+err.Error())
			continue
		}
		parts, err := jsonFiles(filepath.Join(storage, "part", strings.TrimSuffix(filepath.Base(path), ".json")))
		if err != nil {
			return err
		}
		raw := append([]byte(`{"info":`), d.raw(d.root)...)
		raw = append(raw, `,"parts":[`...)
		comma := ""
		for _, part := range parts {
			text, err := os.ReadFile(part)
			if err != nil {
				return err
			}
			p, err := parseDocument(text)
			if err != nil {
				to.broken(0, filepath.Base(part)+": "+err.Error())
				continue
			}
			raw = append(append(raw, comma...), p.raw(p.root)...)
			comma = ","
		}
		if err := to.take(ctx, session, s.openCodeMessage(append(raw, "]}"...), d.root)); err != nil {
			return err
		}
	}
	return nil
}

// jsonFiles lists the JSON files of a folder by name. A folder that does not exist has
// none.
func jsonFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) == ".json" {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	slices.SortFunc(out, cmp.Compare)
	return out, err
}

// isOpenCode reports whether an object is a session of opencode.
func isOpenCode(root rawjson.Value) bool {
	info := root
	if root.Get("info").Kind() == rawjson.Object && root.Get("messages").Kind() == rawjson.Array {
		info = root.Get("info")
	}
	return strings.HasPrefix(info.Get("id").Str(), "ses_") && info.Get("directory").Kind() == rawjson.String
}
