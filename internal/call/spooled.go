package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/call/spool"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// spooledVersion is the version of spooledCall.
const spooledVersion = 1

// spooledCall is a write in a spool: docs/reference/format/spool.md. The blobs are the bytes of
// its messages, the contents of its entry, and for each plan its data and its contents.
type spooledCall struct {
	V            int               `json:"v"`
	ID           string            `json:"id"`
	Tenant       string            `json:"tenant"`
	Conversation string            `json:"conversation"`
	Before       []timeline.Hash   `json:"before,omitempty"`
	Messages     []spooledMessage  `json:"messages"`
	Asked        int               `json:"asked"`
	Stay         bool              `json:"stay,omitempty"`
	Project      string            `json:"project,omitempty"`
	Continues    string            `json:"continues,omitempty"`
	Put          []timeline.Record `json:"put,omitempty"`
	Drop         []timeline.Key    `json:"drop,omitempty"`
	Size         *timeline.Record  `json:"size,omitempty"`
	Entry        *entry            `json:"entry"`
	Who          *timeline.Record  `json:"who,omitempty"`
	Contents     int               `json:"contents"`
	Plans        []spooledBlobs    `json:"plans,omitempty"`
	Began        time.Time         `json:"began"`
	Now          time.Time         `json:"now"`
}

type spooledMessage struct {
	Identity timeline.Hash `json:"i"`
	Format   string        `json:"f"`
	Role     string        `json:"r,omitempty"`
	Ref      string        `json:"n,omitempty"`
}

// spooledBlobs says to which plan the next blobs belong: its data and its contents.
type spooledBlobs struct {
	ID       string `json:"name"`
	Covers   int    `json:"covers"`
	Contents int    `json:"contents"`
}

// spooled returns the entry of a spool for a call.
func (w *write) spooled() (e spool.Entry, err error) {
	s := spooledCall{
		V: spooledVersion, ID: w.id, Tenant: w.tenant, Conversation: w.conversation, Before: w.before, Asked: w.asked,
		Stay: w.change.Stay, Project: w.change.Project, Continues: w.change.Continues, Put: w.change.Put,
		Drop: w.change.Drop,
		Size: w.size, Entry: &w.entry, Who: w.who, Contents: len(w.top.raw), Began: w.began, Now: w.ended,
	}
	for i := range w.history.Len() {
		m := w.history.Message(i)
		s.Messages = append(s.Messages, spooledMessage{w.history.Identity(i), m.Format, m.Role, m.Ref})
		e.Blobs = append(e.Blobs, m.Raw)
	}
	e.Blobs = append(e.Blobs, w.top.raw...)
	plans, err := w.plans(nil)
	if err != nil {
		return e, err
	}
	for _, p := range plans {
		e.Blobs = append(append(e.Blobs, p.Data), p.Raw...)
		s.Plans = append(s.Plans, spooledBlobs{p.ID, p.Covers, len(p.Raw)})
	}
	e.Meta, err = json.Marshal(&s)
	return e, err
}

// errNewer: a newer program wrote an entry of the spool.
var errNewer = errors.New("the call was put into the spool by a newer version of Oriel")

// readSpooled returns the call of an entry, to be written to a store that may have it.
func readSpooled(e spool.Entry, store timeline.Store) (*write, error) {
	var version struct{ V int }
	if err := json.Unmarshal(e.Meta, &version); err == nil &&
		version.V > spooledVersion { // the rest may have another form
		return nil, fmt.Errorf("%w: version %d, this program knows %d", errNewer, version.V, spooledVersion)
	}
	var s spooledCall
	if err := json.Unmarshal(e.Meta, &s); err != nil {
		return nil, fmt.Errorf("read a call of the spool: %w", err)
	}
	if s.V != spooledVersion {
		return nil, fmt.Errorf("read a call of the spool: version %d, this program knows %d", s.V, spooledVersion)
	}
	blobs := e.Blobs
	next := func(n int) [][]byte {
		n = min(max(n, 0), len(blobs))
		taken := blobs[:n:n]
		blobs = blobs[n:]
		return taken
	}
	w := &write{
		id: s.ID, tenant: s.Tenant, conversation: s.Conversation, before: s.Before, asked: s.Asked,
		change: timeline.Change{Now: s.Began, Stay: s.Stay, Project: s.Project, Continues: s.Continues, Put: s.Put,
			Drop: s.Drop},
		size: s.Size, began: s.Began, ended: s.Now, store: store, again: true, who: s.Who,
	}
	if s.Entry != nil {
		w.entry = *s.Entry
	}
	raws := next(len(s.Messages))
	if len(raws) != len(s.Messages) || s.Asked < 0 || s.Asked > len(raws) {
		return nil, fmt.Errorf("read a call of the spool: %d messages, %d of the request, and %d parts",
			len(s.Messages), s.Asked, len(e.Blobs))
	}
	messages := make([]timeline.Resent, 0, len(raws))
	for i, raw := range raws {
		m := &s.Messages[i]
		messages = append(messages, timeline.Resent{Raw: raw, Format: m.Format, Role: m.Role, Ref: m.Ref,
			Time: s.Began})
	}
	w.history = timeline.HistoryOf(messages, func(i int) timeline.Hash { return s.Messages[i].Identity })
	for _, raw := range next(s.Contents) {
		w.top.keep(raw)
	}
	var plans []plan.Stored
	for _, p := range s.Plans {
		data, contents := slices.Concat(next(1)...), next(p.Contents)
		if !json.Valid(data) {
			return nil, fmt.Errorf("%w: read a plan of the spool: it is not JSON", timeline.ErrInvalid)
		}
		plans = append(plans, plan.Stored{ID: p.ID, Covers: p.Covers, Time: s.Began, Data: data, Raw: contents})
	}
	w.plans = func(*timeline.Appended) ([]plan.Stored, error) { return slices.Clone(plans), nil }
	return w, nil
}
