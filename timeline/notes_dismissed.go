package timeline

import (
	"context"
	"encoding/json"
)

// Dismissal is a note about the standing instructions of one message: they are no longer
// offered, or another text is offered in their place. The message itself stays as it is.
type Dismissal struct {
	Pin
	// Text is offered in their place. Empty means that nothing is.
	Text string
}

// storedDismissal is the data of a dismissal with a text. Others have none.
type storedDismissal struct {
	V    int    `json:"v"`
	Text string `json:"text"`
}

// Dismissed returns the messages of all branches whose standing instructions are dismissed
// or edited. A text that cannot be read counts as none.
func (n Notes) Dismissed(ctx context.Context) ([]Dismissal, error) {
	records, err := n.records(ctx, KindDismissed, "")
	var all []Dismissal
	for i := range records {
		p, ok := pinOf(&records[i])
		if !ok {
			continue
		}
		d := Dismissal{Pin: p}
		var s storedDismissal
		if len(records[i].Data) > 0 && json.Unmarshal(records[i].Data, &s) == nil && s.V == 1 {
			d.Text = s.Text
		}
		all = append(all, d)
	}
	return all, err
}

// Of reports whether the note is about the message at a place.
func (d *Dismissal) Of(at Place) bool {
	return d.At == at || d.At.Depth == 0 && d.ID == at.Depth
}

// Dismiss returns the note that replaces the standing instructions of the message at a place
// by text, or dismisses them if text is empty. all are the conversation's notes of that
// kind, and revision is its next revision.
func Dismiss(all []Dismissal, at Place, text string, revision int64) Dismissal {
	taken := false
	for i := range all {
		if all[i].Of(at) {
			return Dismissal{Pin: Pin{Key: all[i].Key, ID: at.Depth, At: at}, Text: text}
		}
		taken = taken || all[i].ID == at.Depth
	}
	return Dismissal{Pin: Pin{Key: PinKey(at.Depth, taken, revision), ID: at.Depth, At: at}, Text: text}
}

// Record returns the record of a dismissal.
func (d Dismissal) Record() (Record, error) {
	r := Record{Kind: KindDismissed, Key: d.Key, At: d.At}
	if d.Text == "" {
		return r, nil
	}
	var err error
	r.Data, err = json.Marshal(storedDismissal{1, d.Text})
	return r, err
}
