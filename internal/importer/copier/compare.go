package copier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// Compare reads everything of a store and what another has of it, and reports each
// difference. It compares bytes, not hashes of them.
func Compare(ctx context.Context, from, to timeline.Whole, progress func(done, total int64),
	report func(difference string)) error {
	c := comparison{from: from, to: to, progress: progress, report: report}
	tenants, err := from.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		st, err := from.Stats(ctx, tenant)
		if err != nil {
			return err
		}
		c.total += st.Bytes
	}
	for _, tenant := range tenants {
		if err := c.compareTenant(ctx, tenant); err != nil {
			return err
		}
	}
	tokens, err := from.Tokens(ctx)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		other, err := to.Token(ctx, t.Hash)
		if err != nil && !errors.Is(err, timeline.ErrNoToken) {
			return err
		}
		if err != nil || other != t {
			report("token " + t.Hash.ID() + " differs")
		}
	}
	return nil
}

type comparison struct {
	from, to     timeline.Whole
	progress     func(done, total int64)
	report       func(string)
	tenant, name string
	done, total  int64
	kinds        []string // of derived data
	seen         map[timeline.Hash]bool
}

func (c *comparison) differ(format string, args ...any) {
	c.report(fmt.Sprintf("%s, conversation %q: ", c.tenant, c.name) + fmt.Sprintf(format, args...))
}

func (c *comparison) compareTenant(ctx context.Context, tenant string) (err error) {
	c.tenant, c.seen = tenant, map[timeline.Hash]bool{}
	if c.kinds, err = c.from.DerivedKinds(ctx, tenant); err != nil {
		return err
	}
	all, err := c.from.Conversations(ctx, tenant)
	if err != nil {
		return err
	}
	for _, a := range all {
		c.name = a.Name
		b, err := c.to.Conversation(ctx, tenant, a.Name)
		if errors.Is(err, timeline.ErrNoConversation) {
			c.differ("it is missing")
			continue
		}
		if err != nil {
			return err
		}
		if err := c.compareConversation(ctx, a, b); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) compareConversation(ctx context.Context, a, b timeline.Conversation) error {
	headA, headB := a.Head, b.Head
	a.Head.Trunk, b.Head.Trunk, a.Revision, b.Revision = 0, 0, 0, 0
	if a != b {
		c.differ("%+v is %+v", a, b)
	}
	places := map[timeline.Place]timeline.Place{{}: {}}
	if err := c.compareWay(ctx, headA, headB, places); err != nil {
		return err
	}
	heads, err := c.from.Heads(ctx, c.tenant, a.Name)
	if err != nil {
		return err
	}
	others, err := c.to.Heads(ctx, c.tenant, a.Name)
	if err != nil {
		return err
	}
	if len(heads) != len(others) {
		c.differ("%d branches are %d", len(heads), len(others))
	}
	for _, head := range heads[1:] {
		there, err := c.find(ctx, head)
		if err != nil {
			return err
		}
		if !slices.Contains(others, there) {
			c.differ("the branch to message %d is missing", head.Depth)
			continue
		}
		if err := c.compareWay(ctx, head, there, places); err != nil {
			return err
		}
	}
	return c.compareRecords(ctx, places)
}

// find returns the place in the target that has the same messages before it as head has in
// the source. It returns the zero place if the target does not contain them.
func (c *comparison) find(ctx context.Context, head timeline.Place) (at timeline.Place, err error) {
	var says []timeline.Hash
	if err := c.from.Messages(ctx, c.tenant, head, 1, math.MaxInt64, true, func(e *timeline.Entry) error {
		says = append(says, e.Identity)
		return nil
	}); err != nil {
		return at, err
	}
	for _, h := range says {
		next, ok, err := c.to.Under(ctx, c.tenant, at, h)
		if err != nil || !ok {
			return timeline.Place{}, err
		}
		at = next
	}
	return at, nil
}

var errEnough = errors.New("enough")

// entries iterates over the messages on the way to a place.
func entries(ctx context.Context, s timeline.Store, tenant string, to timeline.Place,
	failed *error) iter.Seq[*timeline.Entry] {
	return func(yield func(*timeline.Entry) bool) {
		err := s.Messages(ctx, tenant, to, 1, math.MaxInt64, false, func(e *timeline.Entry) error {
			if !yield(e) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			*failed = err
		}
	}
}

func (c *comparison) compareWay(ctx context.Context, to, there timeline.Place,
	places map[timeline.Place]timeline.Place) error {
	var err, err2 error
	next, stop := iter.Pull(entries(ctx, c.to, c.tenant, there, &err2))
	defer stop()
	var variants, contents []timeline.Hash
	n := int64(0)
	for a := range entries(ctx, c.from, c.tenant, to, &err) {
		n++
		b, ok := next()
		if !ok {
			c.differ("message %d is missing", n)
			break
		}
		places[a.Place] = b.Place
		switch {
		case !bytes.Equal(a.Raw, b.Raw):
			c.differ("message %d has other bytes", n)
		case a.Identity != b.Identity || a.Format != b.Format || a.Role != b.Role || a.Ref != b.Ref ||
			!a.Time.Equal(b.Time) || a.Place.Depth != b.Place.Depth:
			c.differ("message %d has another identity, format, role, ref or time", n)
		case !slices.Equal(a.Variants, b.Variants):
			c.differ("message %d has other forms", n)
		}
		if !c.seen[a.Content] {
			c.done += int64(len(a.Raw))
		}
		c.seen[a.Content] = true
		if c.progress != nil && n%100 == 0 {
			c.progress(c.done, c.total)
		}
		variants, contents = append(variants, a.Variants...), append(contents, a.Content)
	}
	if _, more := next(); more && err == nil {
		c.differ("there are messages after %d", n)
	}
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if err := c.compareContents(ctx, variants); err != nil {
		return err
	}
	return c.compareDerived(ctx, append(contents, variants...))
}

// compareContents compares contents that were not compared before.
func (c *comparison) compareContents(ctx context.Context, hashes []timeline.Hash) error {
	for _, h := range hashes {
		if c.seen[h] {
			continue
		}
		c.seen[h] = true
		a, err := c.from.Content(ctx, c.tenant, h)
		if err != nil {
			return err
		}
		b, err := c.to.Content(ctx, c.tenant, h)
		if err != nil && !errors.Is(err, timeline.ErrNoContent) {
			return err
		}
		if err != nil || !bytes.Equal(a, b) {
			c.differ("content %v has other bytes", h)
		}
		c.done += int64(len(a))
	}
	return nil
}

func (c *comparison) compareRecords(ctx context.Context, places map[timeline.Place]timeline.Place) error {
	all, err := c.from.AllRecords(ctx, c.tenant, c.name)
	if err != nil {
		return err
	}
	others, err := c.to.AllRecords(ctx, c.tenant, c.name)
	if err != nil {
		return err
	}
	if len(all) != len(others) {
		c.differ("%d records are %d", len(all), len(others))
	}
	var contents []timeline.Hash
	for i := range min(len(all), len(others)) {
		a, b := &all[i], &others[i]
		if a.Kind != b.Kind || a.Key != b.Key || places[a.At] != b.At || !a.Time.Equal(b.Time) ||
			!bytes.Equal(a.Data, b.Data) || !slices.Equal(a.Contents, b.Contents) {
			c.differ("record %s %q differs", a.Kind, a.Key)
		}
		contents = append(contents, a.Contents...)
	}
	if err := c.compareContents(ctx, contents); err != nil {
		return err
	}
	return c.compareDerived(ctx, contents)
}

func (c *comparison) compareDerived(ctx context.Context, all []timeline.Hash) error {
	for hashes := range slices.Chunk(all, maxMessages) {
		if err := c.compareDerivedOf(ctx, hashes); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) compareDerivedOf(ctx context.Context, hashes []timeline.Hash) error {
	for _, kind := range c.kinds {
		read := func(s timeline.Store) (map[timeline.Hash]string, error) {
			found := map[timeline.Hash]string{}
			return found, s.Derived(ctx, c.tenant, kind, hashes, func(h timeline.Hash, data []byte) error {
				found[h] = string(data)
				return nil
			})
		}
		a, err := read(c.from)
		if err != nil {
			return err
		}
		b, err := read(c.to)
		if err != nil {
			return err
		}
		for h, data := range a {
			if b[h] != data {
				c.differ("%s of content %v differs", kind, h)
			}
		}
	}
	return nil
}
