package timeline

import (
	"context"
	"fmt"
)

// Extract is data made of a run of messages, such as their words, that can be made again.
type Extract struct {
	Span Span
	// Contents are the hashes of the run's contents, in order.
	Contents []Hash
	Data     []byte
}

// Extracts is a store that keeps extracts. Each trunk has extracts of one kind, and no two
// of them overlap.
type Extracts interface {
	// KeepExtracts keeps extracts in place of those that they overlap. It ignores one
	// whose messages have other contents, because they were deleted meanwhile. Extracts
	// go with their messages.
	KeepExtracts(ctx context.Context, tenant, kind string, extracts []Extract) error
	// Extract returns the extract of a kind that covers a place, without its contents, and
	// false if there is none or it is damaged.
	Extract(ctx context.Context, tenant, kind string, at Place) (Extract, bool, error)
}

// CheckExtracts returns an ErrInvalid if no store can keep the extracts.
func CheckExtracts(tenant, kind string, extracts []Extract) error {
	if err := firstError(checkName("tenant", tenant), checkName("kind", kind)); err != nil {
		return err
	}
	for i := range extracts {
		x := &extracts[i]
		if n := x.Span.Last - x.Span.First + 1; x.Span.First < 1 || n < 1 || n != int64(len(x.Contents)) {
			return fmt.Errorf("%w: an extract of messages %d to %d with %d contents", ErrInvalid, x.Span.First,
				x.Span.Last, len(x.Contents))
		}
		if err := checkSize(x.Data); err != nil {
			return err
		}
	}
	return nil
}
