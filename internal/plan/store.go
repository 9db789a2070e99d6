package plan

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// Stored is a plan in a conversation, as the store has it or is to have it.
type Stored struct {
	// ID is the plan's: "p-CALL-0", the same in every conversation that the plan applies to.
	// That of a plan of items is its name.
	ID string
	// Number counts the plans of the conversation, for people; 0 while the plan is not
	// stored.
	Number int64
	// Covers is how many messages a plan of calls is about, At the place of the last of them;
	// a plan of items belongs to where the conversation stood.
	Covers int
	At     timeline.Place
	// Time is when it was made.
	Time time.Time
	// Data is JSON: what oriel show --plan prints, and what else the door that made the plan
	// needs. It is nil if it was not read. Raw are the contents that it refers to, of a plan
	// that is to be stored, Contents those of one that is.
	Data     json.RawMessage
	Raw      [][]byte
	Contents []timeline.Hash
	// Plan is what Data and Contents say. It is nil if they were not read, and for plans of
	// items.
	Plan *Plan
}

// Name returns what people call a plan in its conversation: "p3".
func (s *Stored) Name() string { return NameOf(s.Number) }

// Is reports whether a plan has this id, or this name in its conversation.
func (s *Stored) Is(id string) bool { return id == s.ID || id == s.Name() }

// NameOf returns what people call a plan with this number in its conversation: "p3".
func NameOf(number int64) string { return "p" + strconv.FormatInt(number, 10) }

// NumberOf returns the number in a name, or false if the name is not one that NameOf returns.
func NumberOf(name string) (number int64, ok bool) {
	digits, ok := strings.CutPrefix(name, "p")
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, ok && err == nil && number > 0 && NameOf(number) == name
}

// IDOf returns the id in the key of a plan's record. Keys of earlier programs have the plan's
// name before it: "p3-CALL-0".
func IDOf(key string) string {
	_, id := parseKey(key)
	return id
}

// parseKey returns the number and the id in the key of a plan's record. The number is 0 if
// the key has none.
func parseKey(key string) (number int64, id string) {
	name, call, named := strings.Cut(key, "-")
	number, ok := NumberOf(name)
	switch {
	case !ok:
		return 0, key
	case named:
		return number, "p-" + call
	}
	return number, name // of items
}

// Most is how many plans of a conversation calls use: the newest.
const Most = 256

// few is how many plans are read one by one.
const few = 8

// list returns the ids and numbers of the plans with these keys, in their order. A plan whose
// key has no number has the next one after those of the plans before it that no key has. The
// id is empty for a plan that an earlier key names already.
func list(keys []string) []Stored {
	all := make([]Stored, len(keys))
	used, named := map[int64]bool{}, map[string]bool{}
	for i, key := range keys {
		number, id := parseKey(key)
		if named[id] {
			continue
		}
		named[id], all[i].ID = true, id
		if number > 0 && !used[number] {
			all[i].Number, used[number] = number, true
		}
	}
	last := int64(0)
	for i := range all {
		p := &all[i]
		if p.ID != "" && p.Number == 0 {
			for p.Number = last + 1; used[p.Number]; p.Number++ {
			}
			used[p.Number] = true
		}
		last = max(last, p.Number)
	}
	return all
}

// keysOf returns the keys of a conversation's records of a kind; none if there is no such
// conversation.
func keysOf(ctx context.Context, n timeline.Notes, kind string) ([]string, error) {
	keys, err := n.Store.RecordKeys(ctx, n.Tenant, n.Conversation, kind)
	if errors.Is(err, timeline.ErrNoConversation) {
		return nil, nil
	}
	return keys, err
}

// recordsOf returns the records of a kind with a key, all if the key is empty; none if there
// is no such conversation.
func recordsOf(ctx context.Context, n timeline.Notes, kind, key string) ([]timeline.Record, error) {
	records, err := n.Store.Records(ctx, n.Tenant, n.Conversation, kind, key)
	if errors.Is(err, timeline.ErrNoConversation) {
		return nil, nil
	}
	return records, err
}

// set sets what a record says about a plan.
func (s *Stored) set(r *timeline.Record) {
	s.At, s.Time, s.Data, s.Contents = r.At, r.Time, r.Data, r.Contents
}

// Names returns the names of a conversation's plans by their ids. It reads nothing else of
// them.
func Names(ctx context.Context, n timeline.Notes) (map[string]string, error) {
	keys, err := keysOf(ctx, n, timeline.KindPlan)
	names := map[string]string{}
	for _, p := range list(keys) {
		if p.ID != "" {
			names[p.ID] = p.Name()
		}
	}
	return names, err
}

// List returns the plans of all branches, without Plan, oldest first. If known is not nil, it
// reads those of the newest Most plans that known does not report; of the others it returns
// only the id and the number, which costs little.
func List(ctx context.Context, n timeline.Notes, known func(id string) bool) ([]Stored, error) {
	if known == nil {
		records, err := recordsOf(ctx, n, timeline.KindPlan, "")
		if err != nil {
			return nil, err
		}
		return listed(records), nil
	}
	keys, err := keysOf(ctx, n, timeline.KindPlan)
	if err != nil {
		return nil, err
	}
	all := list(keys)
	var read []int
	for i := max(0, len(all)-Most); i < len(all); i++ {
		if all[i].ID != "" && !known(all[i].ID) {
			read = append(read, i)
		}
	}
	if len(read) > few {
		records, err := recordsOf(ctx, n, timeline.KindPlan, "")
		if err != nil {
			return nil, err
		}
		return listed(records), nil
	}
	for _, i := range read {
		records, err := recordsOf(ctx, n, timeline.KindPlan, keys[i])
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			all[i].ID = "" // somebody has just deleted it
			continue
		}
		all[i].set(&records[0])
	}
	return slices.DeleteFunc(all, func(p Stored) bool { return p.ID == "" }), nil
}

// listed returns the plans of all records of their kind.
func listed(records []timeline.Record) []Stored {
	keys := make([]string, len(records))
	for i := range records {
		keys[i] = records[i].Key
	}
	all := list(keys)
	for i := range all {
		all[i].set(&records[i])
	}
	return slices.DeleteFunc(all, func(p Stored) bool { return p.ID == "" })
}

// OfItems returns the plan of items with this name, or false if there is none.
func OfItems(ctx context.Context, n timeline.Notes, name string) (p Stored, ok bool, err error) {
	records, err := recordsOf(ctx, n, timeline.KindPlan, name)
	if err != nil || len(records) == 0 {
		return p, false, err
	}
	p.Number, p.ID = parseKey(name)
	p.set(&records[0])
	return p, true, nil
}

// Record returns the record of a plan.
func (s *Stored) Record() timeline.Record {
	contents := s.Contents
	for _, raw := range s.Raw {
		contents = append(contents, timeline.HashOf(raw))
	}
	return timeline.Record{Kind: timeline.KindPlan, Key: s.ID, At: s.At, Time: s.Time, Data: s.Data, Contents: contents}
}
