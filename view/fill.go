package view

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/wire"
)

// fill gives back what a result only points at: some agents answer a repeated read of
// an unchanged file with a note that the earlier result still holds, which is not there
// any more where that was masked or left. first is the first message, by index, that
// may still be changed, room the most tokens that this may take: where there is none
// the note says so, for the agent would ask for ever and get the same note.
func (e *edition) fill(first, room int) {
	if len(e.hidden) == 0 {
		return
	}
	var calls map[string]*chat.Part
	for k := len(e.pieces) - 1; k >= 0 && e.pieces[k].Index >= first; k-- {
		m := e.message(e.pieces[k])
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Kind != chat.Result || len(p.Raw) > maxNote || !pointsBack(p) {
				continue
			}
			if calls == nil {
				calls = e.calls()
			}
			text := e.pointedAt(calls, e.pieces[k].Index, p.ID)
			if text == "" {
				continue
			}
			if n := e.counter.Text(text).Tokens + fillRoom; n <= room {
				room -= n
			} else {
				text = fmt.Sprintf("[Oriel: nothing changed since the earlier result, but its %d tokens are no longer shown, to fit the context window. Ask for a part of it.]", n)
			}
			e.replace(k, j, text)
		}
	}
}

// fillRoom is what stands around a text.
const fillRoom = 16

// replace gives a result other content.
func (e *edition) replace(k, part int, text string) {
	raw, err := e.bare(k)
	if err != nil {
		return
	}
	if raw, err = wire.ReplaceResults(e.Body.Format, raw, map[int]string{part: text}); err == nil {
		e.set(k, raw)
	}
}

// maxNote is the most bytes of a result that only points at another.
const maxNote = 1200

// backNote is how agents say it: not the words of a command that left something as it is.
var backNote = regexp.MustCompile(`\b(unchanged|not changed|no changes) since\b.{0,40}\b(last|previous|earlier)\b`)

// pointsBack reports whether a result says that an earlier one still holds.
func pointsBack(p *chat.Part) bool {
	text := strings.ToLower(resultText(p))
	return !strings.HasPrefix(text, "[oriel") && backNote.MatchString(text)
}

// resultText is what a result says in words.
func resultText(p *chat.Part) string {
	text := p.Text.String()
	for i := range p.Parts {
		if q := &p.Parts[i]; q.Kind == chat.Text {
			text += q.Text.String()
		}
	}
	return text
}

// calls are all calls of the request, by id.
func (e *edition) calls() map[string]*chat.Part {
	all := map[string]*chat.Part{}
	for i := range e.Body.Messages {
		for j := range e.Body.Messages[i].Parts {
			if p := &e.Body.Messages[i].Parts[j]; p.Kind == chat.Call {
				all[p.ID] = p
			}
		}
	}
	return all
}

// pointedAt is the newest result before message i of the same tool about the same
// thing, if the view does not show it; "" if it does, or there is none.
func (e *edition) pointedAt(calls map[string]*chat.Part, i int, id string) string {
	c := calls[id]
	if c == nil {
		return ""
	}
	kind, about := condense.MainArgument(c.Name, c.Arguments())
	if about == "" {
		return ""
	}
	for i--; i >= e.lead; i-- {
		for j := range e.Body.Messages[i].Parts {
			p := &e.Body.Messages[i].Parts[j]
			o := calls[p.ID]
			if p.Kind != chat.Result || p.IsError || o == nil || o.Name != c.Name {
				continue
			}
			if k, a := condense.MainArgument(o.Name, o.Arguments()); k != kind || a != about || !sameArguments(o, c) {
				continue
			}
			text, shown := resultText(p), e.shown(i, p.ID)
			if len(p.Raw) <= maxNote && pointsBack(p) { // one more note; was it filled?
				if shown != "" && shown != text && !strings.HasPrefix(shown, "[Oriel") {
					return ""
				}
				continue
			}
			if shown == text {
				return ""
			}
			return text
		}
	}
	return ""
}

// sameArguments reports whether two calls ask for the same: another range of a file is
// another thing.
func sameArguments(a, b *chat.Part) bool {
	var x, y any
	if json.Unmarshal([]byte(a.Arguments()), &x) != nil || json.Unmarshal([]byte(b.Arguments()), &y) != nil {
		return a.Arguments() == b.Arguments()
	}
	return reflect.DeepEqual(x, y)
}

// shown is what the view has of a result of message i; "" if that is left out.
func (e *edition) shown(i int, id string) string {
	k, ok := e.piece(i)
	if !ok {
		return ""
	}
	m := e.message(e.pieces[k])
	for j := range m.Parts {
		if p := &m.Parts[j]; p.Kind == chat.Result && p.ID == id {
			return resultText(p)
		}
	}
	return ""
}
