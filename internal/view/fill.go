package view

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/wire"
)

// fill restores what a result only refers to. Some agents answer a repeated
// read of an unchanged file with a note that the earlier result is still
// valid; if that was masked or left, it is no longer in view. first is the
// first message that may still be changed, room the most tokens for this. If
// there is no room the note says so, because otherwise the agent would repeat
// the read forever and get the same note.
func (e *draft) fill(ctx context.Context, first, room int) error {
	if len(e.hidden) == 0 {
		return nil
	}
	notes, asked := e.notes(first)
	if len(notes) == 0 {
		return nil
	}
	if err := e.pointedAt(ctx, notes, asked); err != nil {
		return err
	}
	texts := map[int]map[int]string{}          // by piece and part
	for _, n := range slices.Backward(notes) { // the newest notes matter most
		if n.text == "" {
			continue
		}
		text := n.text
		if size := e.counter.Text(text).Tokens + fillRoom; size <= room {
			room -= size
		} else {
			text = fmt.Sprintf(prompt.Unchanged, size)
		}
		if texts[n.piece] == nil {
			texts[n.piece] = map[int]string{}
		}
		texts[n.piece][n.part] = text
	}
	for k, parts := range texts {
		e.replace(k, parts)
	}
	return nil
}

// note is a result that refers to an earlier one. text is the text of that
// one, if the view does not show it.
type note struct {
	message, piece, part int
	key                  string // what was asked
	text                 string
}

// notes returns the notes from message first on, and the questions of calls if
// there are any notes.
func (e *draft) notes(first int) (notes []note, asked map[string]string) {
	k, _ := e.piece(first)
	for ; k < len(e.pieces); k++ {
		m := e.message(e.pieces[k])
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Kind != chat.Result || len(p.Raw) > maxNote || !pointsBack(p) {
				continue
			}
			if asked == nil {
				asked = e.questions()
			}
			if key := asked[e.callOf(e.pieces[k].Index, j)]; key != "" {
				notes = append(notes, note{message: e.pieces[k].Index, piece: k, part: j, key: key})
			}
		}
	}
	return notes, asked
}

// callOf returns the id of the call that part j of message i of the request answers.
func (e *draft) callOf(i, j int) string {
	if e.identified == nil {
		e.identified = chat.Identified(e.Body.Messages)
	}
	if parts := e.identified[i].Parts; j < len(parts) {
		return parts[j].ID
	}
	return ""
}

// fillRoom is the size of what surrounds a text.
const fillRoom = 16

// replace gives results of a message other content.
func (e *draft) replace(k int, texts map[int]string) {
	raw, err := e.bare(k)
	if err != nil {
		return
	}
	if raw, err = wire.ReplaceResults(e.Body.Format, raw, texts); err == nil {
		e.set(k, raw)
	}
}

// maxNote is the most bytes of a result that only refers to another.
const maxNote = 1200

// backNote matches a result in which an agent refers to an earlier one. It does
// not match the output of a command that left something unchanged.
var backNote = regexp.MustCompile(`\b(unchanged|not changed|no changes) since\b.{0,40}\b(last|previous|earlier)\b`)

// pointsBack reports whether a result says that an earlier one is still valid.
func pointsBack(p *chat.Part) bool {
	text := strings.ToLower(resultText(p))
	return !strings.HasPrefix(text, "[oriel") && backNote.MatchString(text)
}

// resultText returns the text of a result.
func resultText(p *chat.Part) string {
	if len(p.Parts) == 0 {
		return p.Text.String()
	}
	var text strings.Builder
	text.WriteString(p.Text.String())
	for i := range p.Parts {
		if q := &p.Parts[i]; q.Kind == chat.Text {
			text.WriteString(q.Text.String())
		}
	}
	return text.String()
}

// questions returns for each call's id what it asks for: equal for two calls
// only if they name the same tool and have the same arguments. It leaves out
// calls without a subject.
func (e *draft) questions() map[string]string {
	all := map[string]string{}
	for i := range e.Body.Messages {
		for j := range e.Body.Messages[i].Parts {
			p := &e.Body.Messages[i].Parts[j]
			if p.Kind != chat.Call {
				continue
			}
			id := e.callOf(i, j)
			all[id] = ""
			if _, about := condense.MainArgument(p.Name, p.Arguments()); about != "" {
				all[id] = p.Name + "\x00" + canonical(p.Arguments())
			}
		}
	}
	return all
}

// canonical returns the same text for JSON texts of the same value.
func canonical(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}

// pointedAt finds for each note the newest result before its message that
// answers the same question, and sets the note's text if the view does not
// show that result. It reads the request once.
func (e *draft) pointedAt(ctx context.Context, notes []note, asked map[string]string) error {
	type answer struct {
		text    string
		visible bool
	}
	known := map[string]answer{}
	for _, n := range notes {
		known[n.key] = answer{visible: true} // nothing to refer to
	}
	next := 0
	for i := e.lead; i < len(e.Body.Messages) && next < len(notes); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		for ; next < len(notes) && notes[next].message == i; next++ {
			if a := known[notes[next].key]; !a.visible {
				notes[next].text = a.text
			}
		}
		var shown map[string]string // of this message, by id
		for j := range e.Body.Messages[i].Parts {
			p := &e.Body.Messages[i].Parts[j]
			key := asked[e.callOf(i, j)]
			a, wanted := known[key]
			if p.Kind != chat.Result || p.IsError || !wanted {
				continue
			}
			if shown == nil {
				shown = e.shown(i)
			}
			text, now := resultText(p), shown[p.ID]
			if len(p.Raw) <= maxNote && pointsBack(p) { // one more note; was it filled?
				if now != "" && now != text && !strings.HasPrefix(now, chat.Mark) {
					known[key] = answer{a.text, true}
				}
				continue
			}
			known[key] = answer{text, now == text}
		}
	}
	return nil
}

// shown returns the results of message i in the view, by id; for several with
// one id the first.
func (e *draft) shown(i int) map[string]string {
	all := map[string]string{}
	k, ok := e.piece(i)
	if !ok {
		return all
	}
	m := e.message(e.pieces[k])
	for j := range m.Parts {
		p := &m.Parts[j]
		if _, twice := all[p.ID]; p.Kind == chat.Result && !twice {
			all[p.ID] = resultText(p)
		}
	}
	return all
}
