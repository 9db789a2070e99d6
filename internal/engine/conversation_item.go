package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

// storedItem is an item as it is stored (docs/reference/format/conversation.md). Its id is its
// depth in the history.
type storedItem struct {
	Source    items.Source      `json:"source"`
	Content   string            `json:"content"`
	Full      string            `json:"full,omitempty"`
	Time      int64             `json:"time"` // microseconds since 1970
	Tokens    int               `json:"tokens"`
	Flags     []items.Flag      `json:"flags,omitempty"`
	Failed    bool              `json:"failed,omitempty"`
	Meta      map[string]string `json:"meta,omitempty"`
	Embedding []byte            `json:"embedding,omitempty"` // float32, little-endian
	// Bytes reports that some string was not valid UTF-8. Each character of a string here
	// then stands for one byte.
	Bytes bool `json:"bytes,omitempty"`
}

// normal returns an item as it will be read back: its time in microseconds, empty maps
// and vectors as nil, the star as its last flag.
func (e *Engine) normal(it items.Item) items.Item {
	pinned := it.Pinned()
	it.Flags = starred(it.Flags, false)
	if !e.config.NoAutoFlags {
		for _, f := range items.AutoFlags(it.Whole(), it.Source, it.Failed) {
			if !slices.Contains(it.Flags, f) {
				it.Flags = append(slices.Clip(it.Flags), f)
			}
		}
	}
	it.Flags = starred(it.Flags, pinned)
	if len(it.Meta) == 0 {
		it.Meta = nil
	}
	if len(it.Embedding) == 0 {
		it.Embedding = nil
	}
	it.Time = timeline.Micro(it.Time)
	return it
}

// starred returns a copy of flags with the star as the last one, or without it.
func starred(flags []items.Flag, on bool) []items.Flag {
	out := slices.DeleteFunc(slices.Clone(flags), func(f items.Flag) bool { return f == items.FlagStarred })
	if on {
		out = append(out, items.FlagStarred)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// message returns an item as a message of the history. Its identity covers all fields, so
// that an item never gets the stored bytes of another conversation that began with the
// same words.
func message(it *items.Item) (timeline.Message, error) {
	s := storedItem{
		Source: it.Source, Content: it.Content, Full: it.Full, Time: it.Time.UnixMicro(), Tokens: it.Tokens,
		Flags:  it.Flags,
		Failed: it.Failed, Meta: it.Meta, Embedding: vectorBytes(it.Embedding),
	}
	if !s.valid() {
		s.Bytes = true
		s.each(func(text string) string {
			wide := make([]rune, len(text))
			for i := range len(text) {
				wide[i] = rune(text[i])
			}
			return string(wide)
		})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return timeline.Message{}, err
	}
	raw := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(raw) > timeline.MaxContent {
		return timeline.Message{}, fmt.Errorf("%w: it has %d bytes, at most %d are stored", fault.ErrItem, len(raw),
			timeline.MaxContent)
	}
	role := string(it.Source)
	if len(role) > timeline.MaxName || !utf8.ValidString(role) || strings.IndexByte(role, 0) >= 0 {
		role = "" // Raw has it
	}
	return timeline.Message{Identity: timeline.HashOf(raw), Raw: raw, Format: timeline.FormatItem, Role: role,
		Time: it.Time}, nil
}

// valid reports whether every string is UTF-8.
func (s *storedItem) valid() bool {
	ok := true
	s.each(func(text string) string {
		ok = ok && utf8.ValidString(text)
		return text
	})
	return ok
}

// each applies change to every string.
func (s *storedItem) each(change func(string) string) {
	s.Source, s.Content, s.Full = items.Source(change(string(s.Source))), change(s.Content), change(s.Full)
	s.Flags = slices.Clone(s.Flags)
	for i := range s.Flags {
		s.Flags[i] = items.Flag(change(string(s.Flags[i])))
	}
	meta := maps.Clone(s.Meta)
	clear(meta)
	for k, v := range s.Meta {
		meta[change(k)] = change(v)
	}
	s.Meta = meta
}

// itemOf returns a message of the history, in any format, as an item without its star.
// shown is false for entries that nobody wrote; they never enter a window by themselves.
func (e *Engine) itemOf(entry *timeline.Entry) (it items.Item, shown bool) {
	it, known := readItem(&entry.Message)
	shown = true
	if !known {
		it, shown = e.readMessage(&entry.Message)
	}
	it.ID, it.Time = entry.Place.Depth, entry.Time
	if it.Tokens <= 0 {
		it.Tokens = e.config.Count(it.Content)
	}
	it.Flags = starred(it.Flags, false)
	return it, shown
}

// readItem reads what message wrote.
func readItem(m *timeline.Message) (it items.Item, ok bool) {
	if m.Format != timeline.FormatItem {
		return it, false
	}
	var s storedItem
	if json.Unmarshal(m.Raw, &s) != nil {
		return it, false
	}
	if s.Bytes {
		s.each(func(text string) string {
			narrow := make([]byte, 0, len(text))
			for _, r := range text {
				narrow = append(narrow, byte(r))
			}
			return string(narrow)
		})
	}
	return items.Item{
		Content: s.Content, Full: s.Full, Source: s.Source, Tokens: s.Tokens, Flags: s.Flags, Failed: s.Failed,
		Meta:      s.Meta,
		Embedding: bytesVector(s.Embedding),
	}, true
}

// readMessage returns a message that was not added as an item.
func (e *Engine) readMessage(m *timeline.Message) (it items.Item, shown bool) {
	said, err := m.Chat()
	it = items.Item{Content: m.Text(), Source: items.Source(m.Role)}
	if err == nil {
		it.Content, it.Source = timeline.Words(&said), sourceOf(&said)
		it.Failed = slices.ContainsFunc(said.Parts, func(p chat.Part) bool {
			return p.Kind == chat.Result &&
				p.IsError
		})
	}
	return e.normal(it), !errors.Is(err, timeline.ErrNoMessage)
}

// sourceOf returns the source of a message. Results of tools are the tool's, whatever the
// role of their message.
func sourceOf(m *chat.Message) items.Source {
	isResult := func(p chat.Part) bool { return p.Kind == chat.Result }
	switch {
	case m.Role == chat.Tool, slices.ContainsFunc(m.Parts, isResult):
		return items.SourceTool
	case m.Role == chat.Developer:
		return items.SourceSystem
	}
	return items.Source(m.Role)
}

func vectorBytes(v []float32) []byte {
	var out []byte
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func bytesVector(b []byte) []float32 {
	var out []float32
	for ; len(b) >= 4; b = b[4:] {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return out
}

func clone(it items.Item) items.Item {
	it.Flags = slices.Clone(it.Flags)
	it.Embedding = slices.Clone(it.Embedding)
	it.Meta = maps.Clone(it.Meta)
	return it
}
