package thread

import "context"

// Peek tells where a request would go on from, and remembers nothing of it: for requests
// that are no calls. What is not in memory is read, for as long as ctx allows. It is nil where no
// conversation begins like it. Depth is how much of the request is known. Clients that
// only count often leave out who they are: then all histories of the tenant are looked
// at, and the one that the request has most of is taken.
func (b *Book) Peek(ctx context.Context, r *Request) *Thread {
	if len(r.Messages) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tenant(r.Tenant)
	if th := t.peek(r); th != nil || b.knows(t, r) {
		return th
	}
	r.anybody = r.Hints.space() == (space{})
	if b.fetch(ctx, r) != nil {
		return nil
	}
	return b.tenant(r.Tenant).peek(r)
}

func (t *tenant) peek(r *Request) *Thread {
	l, known := t.deepest(r)
	if l == nil && r.Hints.space() == (space{}) {
		for _, k := range t.roots[r.says(0)] {
			for _, other := range k.lines {
				if n := other.match(r); n > known {
					l, known = other, n
				}
			}
		}
	}
	if l == nil || !l.answered(known) && known < len(r.Messages) {
		return nil
	}
	return &Thread{Tenant: r.Tenant, Conversation: l.talk.name, Kind: Continued, Stay: l.side, Known: known, Says: l.saysFrom(0)[:known], line: l, depth: known}
}
