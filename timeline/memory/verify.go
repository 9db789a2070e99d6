package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// Verify implements timeline.Store.
func (s *Store) Verify(ctx context.Context, report func(timeline.Problem)) error {
	if _, err := s.read(ctx, ""); err != nil {
		return err
	}
	defer s.mu.RUnlock()
	for name, t := range s.tenants {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := verifier{t: t, name: name, report: report, refs: map[timeline.Hash]int{}}
		v.trunks()
		v.conversations()
		v.contents()
	}
	return nil
}

type verifier struct {
	t      *tenant
	name   string
	report func(timeline.Problem)
	refs   map[timeline.Hash]int // counted

	messages, variants, records, bytes int64
	derived, derivedBytes              int64
}

func (v *verifier) problem(conversation string, at timeline.Place, format string, args ...any) {
	v.report(timeline.Problem{Tenant: v.name, Conversation: conversation, Place: at,
		What: fmt.Sprintf(format, args...)})
}

func (v *verifier) trunks() {
	for number, k := range v.t.trunks {
		if len(k.messages) == 0 || number != k.number {
			v.problem("", k.tip(), "trunk %d with %d messages is stored as number %d", k.number, len(k.messages),
				number)
			continue
		}
		if !v.t.has(k.origin) || k.origin.Trunk >= number {
			v.problem("", k.origin, "trunk %d begins at a place that does not exist", number)
			continue
		}
		if v.t.begins[beginning{k.origin, k.messages[0].identity}] != k {
			v.problem("", k.tip(), "the trunk is not found by its first message")
		}
		v.trunk(k)
	}
	if len(v.t.begins) != len(v.t.trunks) {
		v.problem("", timeline.Place{}, "%d trunks have %d beginnings", len(v.t.trunks), len(v.t.begins))
	}
}

func (v *verifier) trunk(k *trunk) {
	var before timeline.Hash
	if m := v.t.at(k.origin); m != nil {
		before = m.chain
	}
	for i := range k.messages {
		m := &k.messages[i]
		at := timeline.Place{Trunk: k.number, Depth: k.origin.Depth + int64(i) + 1}
		if m.chain != m.chainUnder(before) {
			v.problem("", at, "the chain is broken")
		}
		before = m.chain
		forms := append([]timeline.Hash{m.content}, m.variants...)
		for j, h := range forms {
			v.refs[h]++
			if slices.Contains(forms[:j], h) {
				v.problem("", at, "form %d is stored twice", j)
			}
		}
		v.variants += int64(len(m.variants))
		v.messages++
	}
	var used int64
	for c := range k.users {
		if v.t.conversations[c.Name] != c {
			v.problem(c.Name, k.tip(), "a deleted conversation uses the trunk")
		}
		used = max(used, c.used[k.number])
	}
	if used != k.tip().Depth {
		v.problem("", k.tip(), "conversations use the trunk up to depth %d", used)
	}
}

func (v *verifier) conversations() {
	for name, c := range v.t.conversations {
		if c.Name != name || c.Revision < 1 {
			v.problem(name, c.Head, "conversation %q is stored with revision %d", c.Name, c.Revision)
		}
		if c.Head.Trunk != 0 && c.used[c.Head.Trunk] < c.Head.Depth {
			v.problem(name, c.Head, "the head is not a place that the conversation used")
		}
		for number, depth := range c.used {
			at := timeline.Place{Trunk: number, Depth: depth}
			k := v.t.trunks[number]
			if k == nil || v.t.at(at) == nil {
				v.problem(name, at, "the conversation used a place that does not exist")
				continue
			}
			if _, known := k.users[c]; !known || k.origin.Trunk != 0 && c.used[k.origin.Trunk] < k.origin.Depth {
				v.problem(name, at, "the conversation does not hold the way to a place that it used")
			}
		}
		for _, kind := range c.records {
			for _, r := range kind {
				v.record(c, r)
			}
		}
	}
}

func (v *verifier) record(c *conversation, r *record) {
	v.records++
	if r.At.Trunk != 0 && (v.t.at(r.At) == nil || c.used[r.At.Trunk] < r.At.Depth) {
		v.problem(c.Name, r.At, "record %s %q belongs to a place that the conversation has not used", r.Kind, r.Key)
	}
	for _, h := range r.Contents {
		v.refs[h]++
	}
}

func (v *verifier) contents() {
	for h, c := range v.t.contents {
		if timeline.HashOf(c.data) != h {
			v.problem("", timeline.Place{}, "the bytes of content %v do not match its hash", h)
		}
		if c.refs != v.refs[h] {
			v.problem("", timeline.Place{}, "content %v records %d references but has %d", h, c.refs, v.refs[h])
		}
		delete(v.refs, h)
		v.bytes += int64(len(c.data))
		for _, d := range c.derived {
			v.derived++
			v.derivedBytes += int64(len(d.data))
		}
	}
	for h := range v.refs {
		v.problem("", timeline.Place{}, "content %v is missing", h)
	}
	t := v.t
	if t.messages != v.messages || t.variants != v.variants || t.records != v.records || t.bytes != v.bytes {
		v.problem("", timeline.Place{},
			"the totals are %d messages, %d variants, %d records, %d bytes; counted %d, %d, %d, %d",
			t.messages, t.variants, t.records, t.bytes, v.messages, v.variants, v.records, v.bytes)
	}
	if t.derived != v.derived || t.derivedBytes != v.derivedBytes {
		v.problem("", timeline.Place{}, "the totals are %d derived data of %d bytes; counted %d of %d", t.derived,
			t.derivedBytes, v.derived, v.derivedBytes)
	}
}
