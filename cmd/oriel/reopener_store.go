package main

import (
	"context"

	"github.com/oriel-context/oriel/timeline"
)

// The methods of timeline.Store that the present history answers.

func (r *reopener) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	o := r.use()
	defer r.done(o)
	return o.store.Conversation(ctx, tenant, name)
}

func (r *reopener) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	o := r.use()
	defer r.done(o)
	return o.store.Conversations(ctx, tenant)
}

func (r *reopener) Heads(ctx context.Context, tenant, name string) ([]timeline.Place, error) {
	o := r.use()
	defer r.done(o)
	return o.store.Heads(ctx, tenant, name)
}

func (r *reopener) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool, visit func(*timeline.Entry) error) error {
	o := r.use()
	defer r.done(o)
	return o.store.Messages(ctx, tenant, to, first, last, hashes, visit)
}

func (r *reopener) Under(ctx context.Context, tenant string, at timeline.Place, says timeline.Hash) (timeline.Place, bool, error) {
	o := r.use()
	defer r.done(o)
	return o.store.Under(ctx, tenant, at, says)
}

func (r *reopener) Content(ctx context.Context, tenant string, h timeline.Hash) ([]byte, error) {
	o := r.use()
	defer r.done(o)
	return o.store.Content(ctx, tenant, h)
}

func (r *reopener) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	o := r.use()
	defer r.done(o)
	return o.store.Records(ctx, tenant, conversation, kind, key)
}

func (r *reopener) KeepDerived(ctx context.Context, tenant, kind string, data []timeline.Derived) error {
	o := r.use()
	defer r.done(o)
	return o.store.KeepDerived(ctx, tenant, kind, data)
}

func (r *reopener) Derived(ctx context.Context, tenant, kind string, contents []timeline.Hash, visit func(timeline.Hash, []byte) error) error {
	o := r.use()
	defer r.done(o)
	return o.store.Derived(ctx, tenant, kind, contents, visit)
}

func (r *reopener) Delete(ctx context.Context, tenant, conversation string, expect *int64) (timeline.Deleted, error) {
	o := r.use()
	defer r.done(o)
	return o.store.Delete(ctx, tenant, conversation, expect)
}

func (r *reopener) Verify(ctx context.Context, report func(timeline.Problem)) error {
	o := r.use()
	defer r.done(o)
	return o.store.Verify(ctx, report)
}

func (r *reopener) Stats(ctx context.Context, tenant string) (timeline.Stats, error) {
	o := r.use()
	defer r.done(o)
	return o.store.Stats(ctx, tenant)
}

func (r *reopener) Backup(ctx context.Context, path string) error {
	o := r.use()
	defer r.done(o)
	return o.store.Backup(ctx, path)
}
