package timeline

import (
	"context"
	"time"
)

// Claims is a store through which processes share out the making of derived data, so that
// two of them do not compute the same data. A store without it has one process, or leaves
// them to do some work twice.
type Claims interface {
	// Claim lets an owner make data of a kind from contents, and returns the contents
	// that the owner may work on now: those that no other owner has claimed. A claim ends
	// with Unclaim, or after lease by the clock of the store, so that the work of a process
	// that died is taken over. Claiming again extends the lease. Another owner may have
	// stored the data and ended its claim just before, so that callers read the data
	// again after Claim.
	Claim(ctx context.Context, tenant, kind, owner string, contents []Hash, lease time.Duration) ([]Hash, error)
	// Unclaim ends claims of an owner. Missing ones are ignored.
	Unclaim(ctx context.Context, tenant, kind, owner string, contents []Hash) error
}
