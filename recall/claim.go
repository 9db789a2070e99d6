package recall

import (
	"context"
	"errors"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// claimLease is how long other processes leave contents to one that has stopped extending
// its claims. Tests shorten it.
var claimLease = 30 * time.Second

const (
	// claimWait is the time after which a library looks again for vectors that another
	// process makes.
	claimWait = 250 * time.Millisecond
	// unclaimWait limits the ending of claims, which otherwise end by themselves.
	unclaimWait = time.Second
)

// errElsewhere: other processes make the vectors of all these passages now.
var errElsewhere = errors.New("recall: other processes make these vectors")

// claim claims contents for the owner, adds to known what was stored for them meanwhile,
// and returns those that the owner got. A store without claims, or one that cannot be
// written to, leaves all to everybody: mine is then nil.
func (v *vectorStore) claim(ctx context.Context, contents []timeline.Hash,
	known map[timeline.Hash]kept) (mine map[timeline.Hash]bool, err error) {
	claims, ok := v.store.(timeline.Claims)
	if !ok || len(contents) == 0 {
		return nil, nil
	}
	got, err := claims.Claim(ctx, v.tenant, v.kind, v.owner, contents, claimLease)
	if errors.Is(err, timeline.ErrReadOnly) || errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mine = make(map[timeline.Hash]bool, len(got))
	for _, h := range got {
		mine[h] = true
	}
	now, err := v.read(ctx, got)
	if err != nil {
		v.unclaim(ctx, mine)
		return nil, err
	}
	for h, k := range now {
		known[h] = k
	}
	return mine, nil
}

// extend extends claims until the returned function is called.
func (v *vectorStore) extend(ctx context.Context, mine map[timeline.Hash]bool) (stop func()) {
	if len(mine) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for rest(ctx, claimLease/3) == nil {
			_ = recovered(func() error { // if this fails, another process may make the same vectors
				_, err := v.store.(timeline.Claims).Claim(ctx, v.tenant, v.kind, v.owner, listed(mine), claimLease)
				return err
			})
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// unclaim ends claims, also if ctx is done.
func (v *vectorStore) unclaim(ctx context.Context, mine map[timeline.Hash]bool) {
	if len(mine) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unclaimWait)
	defer cancel()
	_ = v.store.(timeline.Claims).Unclaim(ctx, v.tenant, v.kind, v.owner, listed(mine))
}

func listed(set map[timeline.Hash]bool) []timeline.Hash {
	all := make([]timeline.Hash, 0, len(set))
	for h := range set {
		all = append(all, h)
	}
	return all
}
