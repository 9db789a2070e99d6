package wire

import (
	"fmt"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson/passes"
)

// Piece is one message of a view: a message of the body, or a new one.
type Piece struct {
	// Index is the message of the body that is sent, or the one that Raw
	// replaces.
	Index int
	// Raw, if not nil, is sent instead of the body's message: a JSON object in
	// the body's own protocol. Write then ignores Index.
	Raw []byte
}

// Whole returns the view that contains every message unchanged.
func (b *Body) Whole() []Piece {
	view := make([]Piece, len(b.Messages))
	for i := range view {
		view[i].Index = i
	}
	return view
}

// Select returns the view of the messages for which keep is true.
func (b *Body) Select(keep []bool) []Piece {
	view := make([]Piece, 0, len(b.Messages))
	for i := range b.Messages {
		if keep[i] {
			view = append(view, Piece{Index: i})
		}
	}
	return view
}

// Write returns the body with the view in place of its messages. If the view is
// the whole body unchanged, Write returns the original slice, which must not be
// modified.
//
// The bytes between two messages that are still neighbours are copied. Next to a
// new message, or where a neighbour is gone, there is a bare comma.
func (b *Body) Write(view []Piece) ([]byte, error) {
	if b.unchanged(view) {
		return b.data, nil
	}
	if err := b.check(view); err != nil {
		return nil, err
	}
	size := len(b.data) - (b.list.end - b.list.start) + 2
	for _, p := range view {
		size += len(p.Raw) + 1
		if p.Raw == nil {
			size += b.at[p.Index].end - b.at[p.Index].start + 8
		}
	}
	passes.Add(passes.Bodies, size)
	out := make([]byte, 0, size)
	out = append(out, b.data[:b.list.start]...)
	if b.data[b.list.start] == '"' {
		out = b.writeFromString(out, view)
	} else {
		out = b.writeList(out, view)
	}
	return append(out, b.data[b.list.end:]...), nil
}

// AskCache returns data, a request made from b, with a field that asks the provider to cache
// the prompt, if its protocol has one and nothing in the request is marked already.
func (b *Body) AskCache(data []byte) []byte {
	if ask := b.Format.Protocol().AskCache; ask != nil {
		return ask(data)
	}
	return data
}

// AskDrop returns data, a request made from b, with a field that has the provider drop thinking
// that lost its place, and the beta feature that the field needs. It returns data itself and ""
// if its protocol has no such field, or data has it.
func (b *Body) AskDrop(data []byte) (out []byte, beta string) {
	p := b.Format.Protocol()
	if p.AskDrop == nil {
		return data, ""
	}
	if out = p.AskDrop(data); len(out) == len(data) {
		return data, ""
	}
	return out, p.DropBeta
}

// Steady returns data, a request made from b, without what changes with every call although
// nothing was said, such as Claude Code's billing line, behind which a plain prefix cache
// finds nothing. The length stays the same. Without such a part it returns data itself.
func (b *Body) Steady(data []byte) []byte {
	if steady := b.Format.Protocol().Steady; steady != nil {
		return steady(&b.Request, data)
	}
	return data
}

func (b *Body) check(view []Piece) error {
	if b.list.end == 0 {
		return fmt.Errorf("write: the body has no list of messages")
	}
	for i, p := range view {
		if p.Raw == nil && (p.Index < 0 || p.Index >= len(b.at)) {
			return fmt.Errorf("write: piece %d: the body has no message %d, only %d messages", i, p.Index, len(b.at))
		}
	}
	return nil
}

func (b *Body) unchanged(view []Piece) bool {
	if len(view) != len(b.at) {
		return false
	}
	for i, p := range view {
		if p.Raw != nil || p.Index != i {
			return false
		}
	}
	return true
}

// writeList writes the array: its opening white space, runs of neighbours, its
// closing white space.
func (b *Body) writeList(out []byte, view []Piece) []byte {
	if len(b.at) == 0 {
		out = append(out, '[')
	} else {
		out = append(out, b.data[b.list.start:b.at[0].start]...)
	}
	for i := 0; i < len(view); {
		if i > 0 {
			out = append(out, ',')
			if m := b.between(view[i-1], view[i]); m != nil {
				out = append(append(out, m...), ',')
			}
		}
		if view[i].Raw != nil {
			out = append(out, view[i].Raw...)
			i++
			continue
		}
		run := i + 1
		for run < len(view) && view[run].Raw == nil && view[run].Index == view[run-1].Index+1 {
			run++
		}
		out = append(out, b.data[b.at[view[i].Index].start:b.at[view[run-1].Index].end]...)
		i = run
	}
	if len(b.at) == 0 {
		return append(out, ']')
	}
	return append(out, b.data[b.at[len(b.at)-1].end:b.list.end]...)
}

// between returns what must stand between two pieces that were no neighbours, or nil.
func (b *Body) between(before, after Piece) []byte {
	between := b.Format.Protocol().Between
	if between == nil || before.Raw == nil && after.Raw == nil && after.Index == before.Index+1 {
		return nil
	}
	role := b.role(after)
	if role == "" || b.role(before) != role {
		return nil
	}
	return between(role)
}

// role returns whose message a piece is, or "" if that cannot be read.
func (b *Body) role(p Piece) chat.Role {
	if p.Raw == nil {
		return b.Messages[p.Index].Role
	}
	m, err := ReadMessage(b.Format, p.Raw)
	if err != nil {
		return ""
	}
	return m.Role
}

// writeFromString writes the array that replaces a plain string.
func (b *Body) writeFromString(out []byte, view []Piece) []byte {
	out = append(out, '[')
	for i, p := range view {
		if i > 0 {
			out = append(out, ',')
		}
		if p.Raw != nil {
			out = append(out, p.Raw...)
			continue
		}
		out = append(out, b.Format.Protocol().FromText(b.data[b.list.start:b.list.end])...)
	}
	return append(out, ']')
}
