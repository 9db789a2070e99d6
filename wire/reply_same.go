package wire

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// SameReply reports whether echo, a message that a client sent back, is the model's
// reply known, although an SDK re-encoded it: SDKs drop thinking, join and split
// texts, drop empty ones, trim white space and reorder members.
//
// Texts must be equal (refusals count as text), and so must calls: ids, names and the
// JSON of arguments. An echo may have lost all ids of its calls, as with Ollama's SDK for
// Python. Hosted calls may be missing from the echo. Everything else counts
// only if there are neither texts nor calls.
func SameReply(known, echo *chat.Message) bool {
	if known.Role != echo.Role {
		return false
	}
	a, b := speechOf(known), speechOf(echo)
	if len(b.hosted) > 0 && !sameCalls(a.hosted, b.hosted) {
		return false
	}
	if !sameTexts(a.texts, b.texts) || !sameCalls(a.calls, b.calls) {
		return false
	}
	if len(a.texts)+len(a.calls) > 0 {
		return true
	}
	if len(a.hosted) != len(b.hosted) {
		return false
	}
	return sameRest(known, echo, a, b)
}

// speech is the content of a message by kind.
type speech struct {
	texts                           []string // trimmed, none empty
	calls, hosted, thoughts, others []*chat.Part
}

func speechOf(m *chat.Message) speech {
	var s speech
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Kind {
		case chat.Text, chat.Refusal:
			s.texts = appendText(s.texts, p.Text)
		case chat.Call:
			if p.Hosted {
				s.hosted = append(s.hosted, p)
			} else {
				s.calls = append(s.calls, p)
			}
		case chat.Thinking:
			s.thoughts = append(s.thoughts, p)
		case chat.Result:
		default:
			s.others = append(s.others, p)
		}
	}
	return s
}

func appendText(texts []string, s chat.String) []string {
	if text := strings.TrimSpace(s.String()); text != "" {
		texts = append(texts, text)
	}
	return texts
}

// sameTexts compares texts that may be split at different places. White space at a
// split does not count.
func sameTexts(a, b []string) bool {
	var x, y string
	for {
		if x == "" || y == "" {
			x, a = fill(x, a)
			y, b = fill(y, b)
			if x == "" || y == "" {
				return x == y
			}
		}
		n := min(len(x), len(y))
		if x[:n] != y[:n] {
			return false
		}
		x, y = x[n:], y[n:]
	}
}

// fill returns the text to compare next: the rest of the current text, or the next
// one.
func fill(rest string, texts []string) (string, []string) {
	if rest = strings.TrimSpace(rest); rest == "" && len(texts) > 0 {
		return texts[0], texts[1:]
	}
	return rest, texts
}

// sameCalls compares calls by id, in any order, or in their order if the echo, b, has no ids.
func sameCalls(a, b []*chat.Part) bool {
	if len(a) != len(b) {
		return false
	}
	if !slices.ContainsFunc(b, func(p *chat.Part) bool { return p.ID != "" }) {
		return slices.EqualFunc(a, b, func(x, y *chat.Part) bool { return x.Name == y.Name && sameArguments(x, y) })
	}
	byID := func(x, y *chat.Part) int { return strings.Compare(x.ID, y.ID) }
	if !slices.EqualFunc(a, b, func(x, y *chat.Part) bool { return x.ID == y.ID }) {
		a, b = slices.Clone(a), slices.Clone(b)
		slices.SortStableFunc(a, byID)
		slices.SortStableFunc(b, byID)
	}
	return slices.EqualFunc(a, b, func(x, y *chat.Part) bool {
		return x.ID == y.ID && x.Name == y.Name && sameArguments(x, y)
	})
}

func sameArguments(a, b *chat.Part) bool {
	x, y := strings.TrimSpace(a.Arguments()), strings.TrimSpace(b.Arguments())
	if x == y {
		return true
	}
	var one, other rawjson.Doc
	if !readArguments(&one, x) || !readArguments(&other, y) {
		return false
	}
	return sameJSON(one.Root(), other.Root())
}

// readArguments parses the JSON of arguments; empty arguments are an empty object.
func readArguments(doc *rawjson.Doc, text string) bool {
	if text == "" || text == "null" {
		text = "{}"
	}
	return doc.Reset([]byte(text), rawjson.Limits{}) == nil
}

// sameRest compares messages without texts and calls: by their thinking, unless the
// echo dropped it, and by their other parts.
func sameRest(known, echo *chat.Message, a, b speech) bool {
	if len(a.others) != len(b.others) {
		return false
	}
	sameID := known.ID != "" && known.ID == echo.ID
	for i := range a.others {
		if a.others[i].Type != b.others[i].Type || !sameID && !sameRaw(a.others[i].Raw, b.others[i].Raw) {
			return false
		}
	}
	if len(a.thoughts) == 0 || len(b.thoughts) == 0 || sameID {
		return true
	}
	var x, y []string
	for _, p := range a.thoughts {
		x = appendThought(x, p)
	}
	for _, p := range b.thoughts {
		y = appendThought(y, p)
	}
	return sameTexts(x, y)
}

// appendThought appends a part's thinking, or its encrypted form.
func appendThought(texts []string, p *chat.Part) []string {
	n := len(texts)
	texts = appendText(texts, p.Text)
	for i := range p.Parts {
		texts = appendText(texts, p.Parts[i].Text)
	}
	if len(texts) > n {
		return texts
	}
	if doc, err := rawjson.Parse(p.Raw, rawjson.Limits{}); err == nil {
		for _, name := range []string{"encrypted_content", "data", "signature"} {
			texts = appendText(texts, chat.String(doc.Root().Get(name).Raw()))
		}
	}
	return texts
}

func sameRaw(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var one, other rawjson.Doc
	return one.Reset(a, rawjson.Limits{}) == nil && other.Reset(b, rawjson.Limits{}) == nil &&
		sameJSON(one.Root(), other.Root())
}

// sameJSON compares values: members in any order, the last of several with one name,
// and numbers by value.
func sameJSON(a, b rawjson.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case rawjson.String:
		return bytes.Equal(a.Raw(), b.Raw()) || a.Str() == b.Str()
	case rawjson.Number:
		return sameNumber(a.Raw(), b.Raw())
	case rawjson.Array:
		x, y := a.First(), b.First()
		for x.Exists() && y.Exists() && sameJSON(x, y) {
			x, y = x.Next(), y.Next()
		}
		return !x.Exists() && !y.Exists()
	case rawjson.Object:
		return slices.EqualFunc(sorted(a), sorted(b), func(x, y named) bool {
			return bytes.Equal(x.name, y.name) && sameJSON(x.value, y.value)
		})
	}
	return bytes.Equal(a.Raw(), b.Raw())
}

func sameNumber(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := strconv.ParseFloat(string(a), 64)
	y, err2 := strconv.ParseFloat(string(b), 64)
	return err == nil && err2 == nil && x == y
}

type named struct {
	name  []byte
	value rawjson.Value
}

// sorted returns an object's members sorted by name, the last of each name.
func sorted(v rawjson.Value) []named {
	var list []named
	for k, m := range v.Members() {
		list = append(list, named{protocol.Key(k), m})
	}
	slices.SortStableFunc(list, func(a, b named) int { return bytes.Compare(a.name, b.name) })
	out := list[:0]
	for i := range list {
		if i+1 == len(list) || !bytes.Equal(list[i].name, list[i+1].name) {
			out = append(out, list[i])
		}
	}
	return out
}
