package serve

import (
	"context"
	"errors"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// The methods of timeline.Store that the current history answers.

// read reads from the current history. A history whose log was deleted may
// have been closed in order to be saved, or have no connection left to read
// with. Neither begins to read, so read tries again once the history is saved.
func (r *reopener) read(ctx context.Context, do func(*opened) error) error {
	for {
		o := r.use()
		err := do(o)
		saved := false
		if errors.Is(err, timeline.ErrClosed) || errors.Is(err, sqlite.ErrLogGone) {
			_, saved = r.restore(ctx, o, err)
		}
		r.done(o)
		if !saved {
			return err
		}
	}
}

func (r *reopener) Conversation(ctx context.Context, tenant, name string) (found timeline.Conversation, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		found, err = o.store.Conversation(ctx, tenant, name)
		return err
	})
	return found, err
}

func (r *reopener) Conversations(ctx context.Context, tenant string) (found []timeline.Conversation, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		found, err = o.store.Conversations(ctx, tenant)
		return err
	})
	return found, err
}

func (r *reopener) Heads(ctx context.Context, tenant, name string) (found []timeline.Place, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		found, err = o.store.Heads(ctx, tenant, name)
		return err
	})
	return found, err
}

func (r *reopener) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	var err error
	begun := false // nothing is visited twice
	return r.read(ctx, func(o *opened) error {
		if !begun {
			err = o.store.Messages(ctx, tenant, to, first, last, hashes, func(e *timeline.Entry) error {
				begun = true
				return visit(e)
			})
		}
		return err
	})
}

func (r *reopener) Under(ctx context.Context, tenant string, at timeline.Place,
	says timeline.Hash) (place timeline.Place, found bool, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		place, found, err = o.store.Under(ctx, tenant, at, says)
		return err
	})
	return place, found, err
}

func (r *reopener) Content(ctx context.Context, tenant string, h timeline.Hash) (found []byte, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		found, err = o.store.Content(ctx, tenant, h)
		return err
	})
	return found, err
}

func (r *reopener) Records(ctx context.Context, tenant, conversation, kind,
	key string) (found []timeline.Record, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		found, err = o.store.Records(ctx, tenant, conversation, kind, key)
		return err
	})
	return found, err
}

func (r *reopener) RecordKeys(ctx context.Context, tenant, conversation, kind string) ([]string, error) {
	o := r.use()
	defer r.done(o)
	return o.store.RecordKeys(ctx, tenant, conversation, kind)
}

func (r *reopener) KeepDerived(ctx context.Context, tenant, kind string, data []timeline.Derived) error {
	return r.read(ctx, func(o *opened) error { return o.store.KeepDerived(ctx, tenant, kind, data) })
}

func (r *reopener) Derived(ctx context.Context, tenant, kind string, contents []timeline.Hash,
	visit func(timeline.Hash, []byte) error) error {
	var err error
	begun := false
	return r.read(ctx, func(o *opened) error {
		if !begun {
			err = o.store.Derived(ctx, tenant, kind, contents, func(h timeline.Hash, data []byte) error {
				begun = true
				return visit(h, data)
			})
		}
		return err
	})
}

// Claim implements timeline.Claims. A history without claims fails with
// errors.ErrUnsupported.
func (r *reopener) Claim(ctx context.Context, tenant, kind, owner string, contents []timeline.Hash,
	lease time.Duration) (mine []timeline.Hash, err error) {
	err = r.claims(ctx, func(c timeline.Claims) (err error) {
		mine, err = c.Claim(ctx, tenant, kind, owner, contents, lease)
		return err
	})
	return mine, err
}

// Unclaim implements timeline.Claims.
func (r *reopener) Unclaim(ctx context.Context, tenant, kind, owner string, contents []timeline.Hash) error {
	return r.claims(ctx, func(c timeline.Claims) error { return c.Unclaim(ctx, tenant, kind, owner, contents) })
}

func (r *reopener) claims(ctx context.Context, do func(timeline.Claims) error) error {
	return r.read(ctx, func(o *opened) error {
		if c, ok := o.store.(timeline.Claims); ok {
			return do(c)
		}
		return errors.ErrUnsupported
	})
}

// KeepExtracts implements timeline.Extracts. A history without extracts fails with
// errors.ErrUnsupported.
func (r *reopener) KeepExtracts(ctx context.Context, tenant, kind string, extracts []timeline.Extract) error {
	return r.extracts(ctx, func(x timeline.Extracts) error { return x.KeepExtracts(ctx, tenant, kind, extracts) })
}

// Extract implements timeline.Extracts.
func (r *reopener) Extract(ctx context.Context, tenant, kind string,
	at timeline.Place) (found timeline.Extract, ok bool, err error) {
	err = r.extracts(ctx, func(x timeline.Extracts) (err error) {
		found, ok, err = x.Extract(ctx, tenant, kind, at)
		return err
	})
	return found, ok, err
}

func (r *reopener) extracts(ctx context.Context, do func(timeline.Extracts) error) error {
	return r.read(ctx, func(o *opened) error {
		if x, ok := o.store.(timeline.Extracts); ok {
			return do(x)
		}
		return errors.ErrUnsupported
	})
}

// Decide implements timeline.Deciding. A history that cannot decide fails with
// errors.ErrUnsupported.
func (r *reopener) Decide(ctx context.Context, tenant string,
	d timeline.Decision) (others []timeline.Record, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		s, ok := o.store.(timeline.Deciding)
		if !ok {
			return errors.ErrUnsupported
		}
		others, err = s.Decide(ctx, tenant, d)
		return err
	})
	return others, err
}

// Follow implements timeline.Distant. A history that is not distant fails with
// errors.ErrUnsupported.
func (r *reopener) Follow(ctx context.Context, tenant string,
	identities []timeline.Hash) (way []timeline.Place, ending []timeline.Conversation, err error) {
	err = r.distant(ctx, func(d timeline.Distant) (err error) {
		way, ending, err = d.Follow(ctx, tenant, identities)
		return err
	})
	return way, ending, err
}

// Family implements timeline.Distant.
func (r *reopener) Family(ctx context.Context, tenant, name string) (all []timeline.Conversation, err error) {
	err = r.distant(ctx, func(d timeline.Distant) (err error) {
		all, err = d.Family(ctx, tenant, name)
		return err
	})
	return all, err
}

// Holding implements timeline.Distant.
func (r *reopener) Holding(ctx context.Context, tenant string, at timeline.Place,
	record timeline.Key) (names []string, err error) {
	err = r.distant(ctx, func(d timeline.Distant) (err error) {
		names, err = d.Holding(ctx, tenant, at, record)
		return err
	})
	return names, err
}

// Gather implements timeline.Distant.
func (r *reopener) Gather(ctx context.Context, tenant, conversation string,
	w timeline.Wanted) (g *timeline.Gathered, err error) {
	err = r.distant(ctx, func(d timeline.Distant) (err error) {
		g, err = d.Gather(ctx, tenant, conversation, w)
		return err
	})
	return g, err
}

func (r *reopener) distant(ctx context.Context, do func(timeline.Distant) error) error {
	return r.read(ctx, func(o *opened) error {
		if d, ok := o.store.(timeline.Distant); ok {
			return do(d)
		}
		return errors.ErrUnsupported
	})
}

// WantPassages implements timeline.Passages. A history that cannot search fails with
// errors.ErrUnsupported.
func (r *reopener) WantPassages(ctx context.Context, tenant string) error {
	return r.passages(ctx, func(p timeline.Passages) error { return p.WantPassages(ctx, tenant) })
}

// PassagesTo implements timeline.Passages.
func (r *reopener) PassagesTo(ctx context.Context, tenant, kind string) (to map[int64]int64, wanted bool, err error) {
	err = r.passages(ctx, func(p timeline.Passages) (err error) {
		to, wanted, err = p.PassagesTo(ctx, tenant, kind)
		return err
	})
	return to, wanted, err
}

// KeepPassages implements timeline.Passages.
func (r *reopener) KeepPassages(ctx context.Context, tenant, kind string, passages []timeline.Passage,
	to []timeline.Place) error {
	return r.passages(ctx, func(p timeline.Passages) error { return p.KeepPassages(ctx, tenant, kind, passages, to) })
}

// FindPassages implements timeline.Passages.
func (r *reopener) FindPassages(ctx context.Context, tenant, kind string, q timeline.PassageQuery,
	visit func(*timeline.Entry) error) error {
	o := r.use() // not again: nothing is visited twice
	defer r.done(o)
	if p, ok := o.store.(timeline.Passages); ok {
		return p.FindPassages(ctx, tenant, kind, q, visit)
	}
	return errors.ErrUnsupported
}

func (r *reopener) passages(ctx context.Context, do func(timeline.Passages) error) error {
	return r.read(ctx, func(o *opened) error {
		if p, ok := o.store.(timeline.Passages); ok {
			return do(p)
		}
		return errors.ErrUnsupported
	})
}

// Tenants returns the names of all tenants. A history that is not open has none.
func (r *reopener) Tenants(ctx context.Context) (names []string, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		if w, ok := o.store.(timeline.Whole); ok {
			names, err = w.Tenants(ctx)
		}
		return err
	})
	return names, err
}

func (r *reopener) Delete(ctx context.Context, tenant, conversation string,
	expect *int64) (deleted timeline.Deleted, err error) {
	err = r.change(ctx, func(s timeline.Store) (err error) {
		deleted, err = s.Delete(ctx, tenant, conversation, expect)
		return err
	})
	return deleted, err
}

func (r *reopener) AddToken(ctx context.Context, t timeline.AccessToken) error {
	return r.change(ctx, func(s timeline.Store) error { return s.AddToken(ctx, t) })
}

func (r *reopener) RevokeToken(ctx context.Context, hash timeline.TokenHash, at time.Time) error {
	return r.change(ctx, func(s timeline.Store) error { return s.RevokeToken(ctx, hash, at) })
}

func (r *reopener) Token(ctx context.Context, hash timeline.TokenHash) (found timeline.AccessToken, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		found, err = o.store.Token(ctx, hash)
		return err
	})
	return found, err
}

func (r *reopener) Tokens(ctx context.Context) (found []timeline.AccessToken, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		found, err = o.store.Tokens(ctx)
		return err
	})
	return found, err
}

func (r *reopener) Verify(ctx context.Context, report func(timeline.Problem)) error {
	return r.read(ctx, func(o *opened) error { return o.store.Verify(ctx, report) })
}

func (r *reopener) Stats(ctx context.Context, tenant string) (found timeline.Stats, err error) {
	err = r.read(ctx, func(o *opened) (err error) {
		found, err = o.store.Stats(ctx, tenant)
		return err
	})
	return found, err
}

func (r *reopener) Backup(ctx context.Context, path string) error {
	return r.read(ctx, func(o *opened) error { return o.store.Backup(ctx, path) })
}
