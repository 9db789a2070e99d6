package wire

import "fmt"

// Piece is one message of a view: one that the body has, or one that was made.
type Piece struct {
	// Index is the message of the body that is sent as it came.
	Index int
	// Raw, where it is not nil, is sent instead: a JSON object in the body's own
	// protocol. Index then says nothing.
	Raw []byte
}

// Whole is the view that shows everything.
func (b *Body) Whole() []Piece {
	view := make([]Piece, len(b.Messages))
	for i := range view {
		view[i].Index = i
	}
	return view
}

// Select is the view of the messages that are marked.
func (b *Body) Select(keep []bool) []Piece {
	view := make([]Piece, 0, len(b.Messages))
	for i := range b.Messages {
		if keep[i] {
			view = append(view, Piece{Index: i})
		}
	}
	return view
}

// Write gives the body with the view in the place of its messages. Where the
// view is the whole body as it came, that very slice is returned; it must not
// be changed.
//
// What stands between two messages that are still neighbours is copied with
// them. Where a message is new or its neighbour is gone there is a bare comma.
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
	out := make([]byte, 0, size)
	out = append(out, b.data[:b.list.start]...)
	if b.data[b.list.start] == '"' {
		out = b.writeFromString(out, view)
	} else {
		out = b.writeList(out, view)
	}
	return append(out, b.data[b.list.end:]...), nil
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

// writeFromString writes the array that takes the place of a plain string.
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
		out = append(out, `{"role":"user","content":`...)
		out = append(out, b.data[b.list.start:b.list.end]...)
		out = append(out, '}')
	}
	return append(out, ']')
}
