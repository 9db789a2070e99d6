package usage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Priced is a recorded call with its price.
type Priced struct {
	// ID identifies the call in logs; Number is its place among the calls of the conversation in the
	// order in which they began.
	ID     string
	Number int
	// Plan is the id or the name of the plan by which it was sent; empty for none.
	Plan string
	// Last is the id of the last message of the request.
	Last int64
	// MS is how long the answer took.
	MS float64
	Call
	Price
}

// ErrUnread is the error for a recorded call that cannot be read: it is damaged, or of a newer
// version of the program.
var ErrUnread = errors.New("a recorded call cannot be read")

// Reader adds up the calls of a store and remembers them: a later report reads only what is
// new. It is safe for concurrent use.
type Reader struct {
	store timeline.Store

	mu     sync.Mutex // protects what follows
	models *token.Models
	known  map[[2]string]*ledgerPage // by tenant and conversation
	calls  int                       // of all pages
}

// maxRemembered is how many calls a reader remembers. Beyond it, it forgets all of them.
const maxRemembered = 200_000

// ledgerPage is the calls of a conversation.
type ledgerPage struct {
	created  time.Time
	revision int64
	keys     []string // of all records, also of imported calls
	ledger   *Ledger
	calls    []Priced
	plans    []string // the keys of all plans
	inline   []Paid   // by plans
	paid     []Paid   // in the background and by plans
}

// NewReader returns a reader of a store.
func NewReader(store timeline.Store) *Reader {
	return &Reader{store: store, known: map[[2]string]*ledgerPage{}}
}

// Visit visits conversations with their calls since o.Since, oldest first, and what was
// paid for summaries since then. Visit must not keep or change them.
func (r *Reader) Visit(ctx context.Context, tenant string, o Options,
	visit func(c *timeline.Conversation, calls []Priced, paid []Paid) error) error {
	all, err := r.store.Conversations(ctx, tenant)
	if err != nil {
		return err
	}
	for i := range all {
		c := &all[i]
		if o.Conversation != "" && c.Name != o.Conversation || c.Updated.Before(o.Since) {
			continue // a conversation without newer changes has no newer calls
		}
		page, err := r.page(ctx, tenant, c, o.models())
		if err != nil {
			return err
		}
		calls, paid := page.calls, page.paid
		if !o.Since.IsZero() {
			// Calls are in the order in which they ended.
			calls = slices.DeleteFunc(slices.Clone(calls), func(p Priced) bool { return p.Began.Before(o.Since) })
			paid = slices.DeleteFunc(slices.Clone(paid), func(p Paid) bool { return p.Time.Before(o.Since) })
		}
		if err := visit(c, calls, paid); err != nil {
			return err
		}
	}
	return nil
}

// Calls visits the calls of one conversation, oldest first. Visit must not keep or change
// them.
func (r *Reader) Calls(ctx context.Context, tenant string, c *timeline.Conversation, models *token.Models,
	visit func([]Priced)) error {
	page, err := r.page(ctx, tenant, c, models)
	if err == nil {
		visit(page.calls)
	}
	return err
}

// page returns the calls of a conversation, and none if that was deleted meanwhile.
func (r *Reader) page(ctx context.Context, tenant string, c *timeline.Conversation,
	models *token.Models) (*ledgerPage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.models != models || r.calls > maxRemembered {
		clear(r.known)
		r.models, r.calls = models, 0
	}
	at := [2]string{tenant, c.Name}
	old := r.known[at]
	if old != nil && old.created.Equal(c.Created) && old.revision == c.Revision {
		return old, nil
	}
	// The page takes over the ledger of the old one, which is then of no use.
	if old != nil {
		delete(r.known, at)
		r.calls -= len(old.calls)
	}
	page, err := r.read(ctx, tenant, c, old)
	if errors.Is(err, timeline.ErrNoConversation) {
		return &ledgerPage{}, nil
	}
	if err != nil {
		return nil, err
	}
	r.calls += len(page.calls)
	r.known[at] = page
	return page, nil
}

// read reads the calls of a conversation that old, which is nil or an earlier state, does not
// have.
func (r *Reader) read(ctx context.Context, tenant string, c *timeline.Conversation,
	old *ledgerPage) (*ledgerPage, error) {
	page := &ledgerPage{created: c.Created, revision: c.Revision, ledger: NewLedger(r.models)}
	if old == nil || !old.created.Equal(c.Created) {
		old = &ledgerPage{}
	}
	// A plan is written together with its call: with these read first, each one has its call.
	plans, plansKept, err := r.fresh(ctx, tenant, c.Name, timeline.KindPlan, old.plans)
	if err != nil {
		return nil, err
	}
	if plansKept {
		page.plans, page.inline = slices.Clip(old.plans), slices.Clip(old.inline)
	}
	fresh, kept, err := r.fresh(ctx, tenant, c.Name, "call", old.keys)
	if err != nil {
		return nil, err
	}
	if kept {
		page.keys, page.ledger, page.calls = slices.Clip(old.keys), old.ledger, slices.Clip(old.calls)
	}
	for i := range fresh {
		if err := page.add(c.Name, &fresh[i]); err != nil {
			return nil, err
		}
	}
	page.number()
	return page, r.summaries(ctx, tenant, c.Name, plans, page)
}

// maxSingly is how many records are read one by one; more are read with all others.
const maxSingly = 32

// fresh returns the records of a kind that are not known. known are the keys of the first
// ones; if some of them are gone, kept is false and all records are fresh.
func (r *Reader) fresh(ctx context.Context, tenant, conversation, kind string,
	known []string) (fresh []timeline.Record, kept bool, err error) {
	n := len(known)
	if n > 0 {
		keys, err := r.store.RecordKeys(ctx, tenant, conversation, kind)
		if err != nil {
			return nil, false, err
		}
		if n <= len(keys) && len(keys)-n <= maxSingly && slices.Equal(keys[:n], known) {
			for _, key := range keys[n:] {
				found, err := r.store.Records(ctx, tenant, conversation, kind, key)
				if err != nil {
					return nil, false, err
				}
				fresh = append(fresh, found...)
			}
			return fresh, true, nil
		}
	}
	fresh, err = r.store.Records(ctx, tenant, conversation, kind, "")
	return fresh, false, err
}

// add prices a record. Older calls come before newer ones, whose prices depend on them.
func (p *ledgerPage) add(conversation string, record *timeline.Record) error {
	p.keys = append(p.keys, record.Key)
	if strings.HasPrefix(record.Key, Imported) {
		return nil
	}
	stored, err := call.Decode(record)
	if err != nil {
		return fmt.Errorf("conversation %q: %w: %w", conversation, ErrUnread, err)
	}
	call := FromStored(conversation, stored)
	p.calls = append(p.calls, Priced{ID: record.Key, Plan: stored.Plan, Last: record.At.Depth, MS: stored.MS,
		Call: *call, Price: p.ledger.Price(call)})
	return nil
}

// number numbers the calls. Those of the page that this one continues stay as they are.
func (p *ledgerPage) number() {
	p.calls = slices.Clone(p.calls)
	order := make([]int, len(p.calls))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return p.calls[a].Began.Compare(p.calls[b].Began) })
	for n, i := range order {
		p.calls[i].Number = n + 1
	}
}
