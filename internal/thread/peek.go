package thread

import "context"

// Peek returns where a request would continue from, without remembering it,
// for requests that are not calls. It reads what is not in memory for as long
// as ctx allows. It returns nil if no conversation begins like the request.
// Depth is how much of the request is known. Clients that only count tokens
// often do not identify themselves: Peek then considers the tenant's latest
// histories that begin like the request and takes the one that it shares most
// with.
func (b *Index) Peek(ctx context.Context, r *Request) *Thread {
	if len(r.Messages) == 0 || len(r.Messages) > MaxMessages {
		return nil
	}
	r.prepare()
	t := b.tenant(r.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.spaces[r.Hints.space()]
	if n == nil {
		n = newNamespace(r.Hints.space())
	}
	p := t.walk(n, r)
	if th := t.peek(n, r, p); th != nil || t.knows(n, r, p) {
		return th
	}
	r.anybody = r.Hints.space() == (space{})
	if _, err := t.fetch(ctx, n, r); err != nil {
		return nil
	}
	if n = t.spaces[r.Hints.space()]; n == nil {
		n = newNamespace(r.Hints.space())
	}
	return t.peek(n, r, t.walk(n, r))
}

func (t *tenant) peek(n *namespace, r *Request, p place) *Thread {
	b := t.nearest(n, r, p)
	if b == nil && r.Hints.space() == (space{}) {
		for _, other := range t.begins[r.identities[0]] {
			if q := t.walk(other, r); q.depth > p.depth {
				if c := t.nearest(other, r, q); c != nil {
					b, p = c, q
				}
			}
		}
	}
	if b == nil || !p.answered() && p.depth < len(r.Messages) {
		return nil
	}
	return &Thread{Tenant: r.Tenant, Conversation: b.of.name, Kind: Continued, Stay: b.side, Known: p.depth,
		Identities: p.identities(0), of: b.of, branch: b, at: p}
}
