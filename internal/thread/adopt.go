package thread

// adopt moves a conversation into the session with the same name if the
// request continues it: its client sends back the conversation name that Oriel
// reported. p is how far the request was known before; adopt returns how far
// it is known then.
func (t *tenant) adopt(n *namespace, r *Request, p place) place {
	k := t.nameless(n, r)
	if k == nil {
		return p
	}
	in := t.walk(k.space, r)
	if t.nameless(n, r) != k { // changed meanwhile
		return p
	}
	for _, b := range k.branches {
		if meet(b.tip, in).answered() {
			t.transplant(k, n)
			k.session, k.stored = r.Hints.Session, false
			t.session(k.session).count++
			return t.walk(n, r)
		}
	}
	return p
}

// nameless returns the conversation that has the name of the request's session
// and belongs to no session.
func (t *tenant) nameless(n *namespace, r *Request) *conversation {
	k := t.conversations[r.Hints.Session]
	if r.Hints.Session == "" || k == nil || k.space == n || k.session != "" || k.calls > 0 {
		return nil
	}
	return k
}

// meet returns the last place that the paths to two places have in common.
func meet(a, b place) place {
	for a.trunk != b.trunk {
		if b.trunk == nil || a.trunk != nil && a.trunk.at > b.trunk.at {
			a = place{a.trunk.from, a.trunk.at}
		} else {
			b = place{b.trunk.from, b.trunk.at}
		}
	}
	return place{a.trunk, min(a.depth, b.depth)}
}

// transplant moves a conversation into another namespace.
func (t *tenant) transplant(k *conversation, to *namespace) {
	type moved struct {
		asked int
		steps []step
		b     *branch
	}
	var branches []moved
	for _, b := range k.branches {
		branches = append(branches, moved{b.asked.depth, b.tip.path(), b})
	}
	var marks []anchor
	var paths [][]step
	for _, m := range k.plans {
		marks, paths = append(marks, *m), append(paths, m.at.path())
	}
	from := k.space
	t.removeBranches(k)
	from.recent, from.summed = without(from.recent, k), without(from.summed, k)
	from.count--
	t.tidy(from)
	k.space = to
	for i := range branches {
		m := &branches[i]
		b := &branch{of: k, sketch: m.b.sketch, side: m.b.side}
		tip, added := to.extend(place{}, m.steps)
		t.grow(added)
		t.move(b, tip.up(m.asked), tip, m.b.reply)
		k.branches = append(k.branches, b)
		tip.use(k)
	}
	for i := range marks {
		t.addPlan(k, &marks[i], paths[i])
	}
	if k.summary != nil {
		to.summed = latest(to.summed, k, mostSummaries)
	}
	to.count++
	first := k.branches[0].tip.up(1).last().identity
	t.begins[first] = latest(t.begins[first], to, maxBegins)
	t.account(k)
}

// path returns the messages up to a place.
func (p place) path() []step {
	out := make([]step, p.depth)
	for ; p.depth > 0; p = p.before() {
		out[p.depth-1] = *p.last()
	}
	return out
}
