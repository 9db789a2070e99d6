package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kinds of the records that hold notes: what people and policies have decided about the
// messages of a conversation. docs/reference/format/notes.md describes them.
const (
	KindPin       = "pin"
	KindDismissed = "dismissed"
	KindHold      = "hold"
	KindPlan      = "plan"
	KindSize      = "size"
	// KindPrivate marks a conversation that only its own searches cover.
	KindPrivate = "private"
	// KindTitle is the title that an imported file gives a conversation.
	KindTitle = "title"
	// KindDecision is a Decision.
	KindDecision = "decision"
)

// Notes reads the notes of a conversation. A conversation that does not exist has none.
// Change writes them: as the records that the notes return.
type Notes struct {
	Store                Store
	Tenant, Conversation string
}

// Pin is a note about one message: that it stays in view.
type Pin struct {
	// Key is the key of the record. Its number is ID.
	Key string
	ID  int64
	// At is the place of the message. It is zero if another program has left it out:
	// the note then holds for the message of that id on any branch.
	At Place
	// Settled reports that the pin has taken effect in a window of items.
	Settled bool
}

// settledPin is the data of a settled pin. Other pins have none.
var settledPin = []byte(`{"settled":true}`)

// Pins returns the pinned messages of all branches, in the order in which they were pinned.
// Records whose key is not an id are left out.
func (n Notes) Pins(ctx context.Context) ([]Pin, error) {
	records, err := n.records(ctx, KindPin, "")
	var pins []Pin
	for i := range records {
		if p, ok := pinOf(&records[i]); ok {
			p.Settled = len(records[i].Data) > 0
			pins = append(pins, p)
		}
	}
	return pins, err
}

// pinOf returns the message that a record is about, or false if its key is not an id.
func pinOf(r *Record) (Pin, bool) {
	number, _, _ := strings.Cut(r.Key, "@")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 || r.At.Depth != 0 && r.At.Depth != id {
		return Pin{}, false
	}
	return Pin{Key: r.Key, ID: id, At: r.At}, true
}

// PinKey returns the key for a note about a message: its id. If a note of another branch
// has that key, which taken reports, the key also contains revision, the next revision of
// the conversation.
func PinKey(id int64, taken bool, revision int64) string {
	if taken {
		return fmt.Sprintf("%d@%d", id, revision)
	}
	return strconv.FormatInt(id, 10)
}

// Record returns the record of a pin.
func (p Pin) Record() Record {
	r := Record{Kind: KindPin, Key: p.Key, At: p.At}
	if p.Settled {
		r.Data = settledPin
	}
	return r
}

// Private reports whether the conversation is private: searches from other conversations do
// not cover it.
func (n Notes) Private(ctx context.Context) (bool, error) {
	records, err := n.records(ctx, KindPrivate, PrivateKey)
	return len(records) > 0, err
}

// PrivateChange returns the change that makes a conversation private, or no longer so.
func (c *Conversation) PrivateChange(private bool, now time.Time) Change {
	change := Change{Conversation: c.Name, ExpectCreated: c.Created, Stay: true, Now: now}
	if private {
		change.Put = []Record{{Kind: KindPrivate, Key: PrivateKey}}
	} else {
		change.Drop = []Key{{Kind: KindPrivate, Key: PrivateKey}}
	}
	return change
}

// PrivateKey is the key of the record that makes a conversation private.
const PrivateKey = "private"

// Hold keeps in view what an undone plan had left out.
type Hold struct {
	// Plan is the name of the plan that was undone, or its id. It is HeldBefore for what
	// an earlier version held without naming the plan.
	Plan string
	Held Ranges
	// At is the place of the last message held: the hold is valid wherever the way to
	// the head passes it.
	At Place
}

// HeldBefore is the Plan of a hold whose plan is not known.
const HeldBefore = "held"

// storedHold is the data of a hold.
type storedHold struct {
	V    int    `json:"v"`
	Held string `json:"held"`
}

// Holds returns the holds of all branches, oldest first. Damaged ones are left out.
func (n Notes) Holds(ctx context.Context) ([]Hold, error) {
	records, err := n.records(ctx, KindHold, "")
	var holds []Hold
	for i := range records {
		var s storedHold
		if json.Unmarshal(records[i].Data, &s) != nil || s.V != 1 {
			continue
		}
		held, err := ParseRanges(s.Held)
		if l := len(held); err != nil || l == 0 || int64(held[l-1][1]) > records[i].At.Depth {
			continue
		}
		holds = append(holds, Hold{Plan: records[i].Key, Held: held, At: records[i].At})
	}
	return holds, err
}

// Record returns the record of a hold.
func (h Hold) Record() (Record, error) {
	data, err := json.Marshal(storedHold{V: 1, Held: h.Held.String()})
	return Record{Kind: KindHold, Key: h.Plan, At: h.At, Data: data}, err
}

// Size is the state of the adaptive size of a conversation that came by calls.
type Size struct {
	// Size is the size of the window after Seen messages.
	Size, Seen int
	// Tracker is the state of the items.Tracker that observed them, as JSON.
	Tracker json.RawMessage
}

const sizeKey = "window"

// storedSize is the data of a size.
type storedSize struct {
	V       int             `json:"v"`
	Size    int             `json:"size"`
	Seen    int             `json:"seen"`
	Tracker json.RawMessage `json:"tracker"`
}

// Size returns the adaptive size, or false if none is stored that this version can read.
func (n Notes) Size(ctx context.Context) (Size, bool, error) {
	records, err := n.records(ctx, KindSize, sizeKey)
	if err != nil || len(records) == 0 {
		return Size{}, false, err
	}
	var s storedSize
	if json.Unmarshal(records[0].Data, &s) != nil || s.V != 1 {
		return Size{}, false, nil
	}
	return Size{s.Size, s.Seen, s.Tracker}, true, nil
}

// Record returns the record of a size.
func (s Size) Record() (Record, error) {
	data, err := json.Marshal(storedSize{1, s.Size, s.Seen, s.Tracker})
	return Record{Kind: KindSize, Key: sizeKey, Data: data}, err
}

func (n Notes) records(ctx context.Context, kind, key string) ([]Record, error) {
	records, err := n.Store.Records(ctx, n.Tenant, n.Conversation, kind, key)
	if errors.Is(err, ErrNoConversation) {
		return nil, nil
	}
	return records, err
}
