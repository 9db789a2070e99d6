package thread

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// fetching is a load in progress.
type fetching struct {
	done chan struct{}
	err  error
	// read is what was read of each conversation.
	read map[string]*timeline.Snapshot
}

type fetchKey struct {
	space space
	root  timeline.Hash
}

// fetchTime is the longest that a load may take.
const fetchTime = time.Minute

// fetch reads the stored conversations that a request may belong to. The lock
// is held before and after the read, not during it. If the request cannot
// wait, the read continues without it. read is what was read of each
// conversation, if that began after the request came.
func (t *tenant) fetch(ctx context.Context, n *namespace, r *Request) (read map[string]*timeline.Snapshot, err error) {
	key := fetchKey{n.key, r.identities[0]}
	whole := r.Hints.Session != "" && !n.read // all of a session
	if whole {
		key.root = timeline.Hash{}
	}
	f := t.fetches[key]
	own := f == nil
	if own {
		f = &fetching{done: make(chan struct{})}
		t.fetches[key] = f
		ask := &Request{Tenant: r.Tenant, Hints: r.Hints, anybody: r.anybody, Messages: r.Messages,
			identities: slices.Clone(r.identities[:min(len(r.identities), maxWalk)])}
		t.index.loads.Add(1)
		go t.load(f, key, ask, whole)
	}
	t.mu.Unlock()
	defer t.mu.Lock()
	select {
	case <-f.done:
		if own {
			read = f.read
		}
		return read, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// load reads the conversations for a request and adds them to the tenant.
func (t *tenant) load(f *fetching, key fetchKey, ask *Request, whole bool) {
	defer t.index.loads.Done()
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	found, names, err := t.index.guardedLoad(ctx, ask, whole)
	f.read = map[string]*timeline.Snapshot{}
	for _, s := range found {
		f.read[s.name] = s.read
		t.mu.Lock()
		t.insert(s)
		t.mu.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.err = err; err == nil && whole {
		t.namespace(key.space).read = true
		t.session(ask.Hints.Session).taken = names
	}
	delete(t.fetches, key)
	close(f.done)
}

// guardedLoad does the reading of load and returns panics as errors, because
// nobody else would recover them there.
func (b *Index) guardedLoad(ctx context.Context, r *Request,
	whole bool) (found []*storedConversation, names map[string]bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			found, err = nil, fmt.Errorf("a panic: %v", p)
		}
	}()
	if whole {
		return b.loadSession(ctx, r)
	}
	found, err = b.loadRoot(ctx, r)
	return found, nil, err
}

// Wait waits for all reads of the store in progress.
func (b *Index) Wait() { b.loads.Wait() }
