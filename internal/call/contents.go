package call

import (
	"slices"
	"sync"

	"github.com/oriel-context/oriel/timeline"
)

// contents are the bytes that the record of a call refers to.
type contents struct {
	raw    [][]byte
	hashes []timeline.Hash
}

func (c *contents) keep(raw []byte) string { return c.add(raw, timeline.HashOf(raw)) }

func (c *contents) add(raw []byte, h timeline.Hash) string {
	c.raw, c.hashes = append(c.raw, raw), append(c.hashes, h)
	return h.String()
}

// keepStripped keeps a JSON text without its credentials. It remembers texts without any
// in bare, so that tools, which every call repeats, are read once.
func (c *contents) keepStripped(raw []byte, bare *hashSet) string {
	h := timeline.HashOf(raw)
	if !bare.has(h) {
		if clean := withoutSecrets(raw); len(clean) != len(raw) || len(raw) > 0 && &clean[0] != &raw[0] {
			return c.keep(clean)
		}
		bare.add(h)
	}
	return c.add(raw, h)
}

// hashSet is a bounded set of hashes of contents. It is safe for concurrent use.
type hashSet struct {
	mu  sync.Mutex // protects all
	all map[timeline.Hash]struct{}
}

// maxHashes is the number of hashes at which a hashSet is emptied.
const maxHashes = 1024

func (s *hashSet) has(h timeline.Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.all[h]
	return ok
}

func (s *hashSet) add(h timeline.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= maxHashes {
		s.all = map[timeline.Hash]struct{}{}
	}
	s.all[h] = struct{}{}
}

// keepTop keeps the parts of a request beside its history: the system prompt block by
// block, because one block may be new with every call, the tools, and the other fields.
func (c *Call) keepTop(e *entry, top *contents) {
	p := c.body.Format.Protocol()
	for _, m := range slices.Backward(c.body.Members()) { // the last one with a name counts
		if m.Name != p.System || len(c.body.System) == 0 {
			continue
		}
		if e.Plain = m.Raw[0] != '['; e.Plain {
			e.System = append(e.System, top.keep(m.Raw))
			break
		}
		for i := range c.body.System {
			e.System = append(e.System, top.keep(c.body.System[i].Raw))
		}
		break
	}
	e.Apart = len(e.System)
	for i := range c.system {
		e.System = append(e.System, top.keep(c.system[i].Raw))
	}
	rest := fields{keep: top.keep, keys: c.secrets()}
	for _, m := range c.body.Members() {
		switch {
		case m.Name == p.List, m.Name == p.System && e.Apart > 0:
		case m.Name == "tools" && e.Tools == "":
			e.Tools = top.keepStripped(m.Raw, &c.engine.bare)
		default:
			rest.add(m.Name, m.Raw)
		}
	}
	e.Rest = rest.json()
	if frame := c.body.Frame(); frame != nil {
		e.Frame = top.keep(rest.keys.Replace(frame, hashed))
	}
}
