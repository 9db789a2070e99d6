package timeline

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Policy says which conversations need not be kept. The zero Policy keeps all.
type Policy struct {
	// OlderThan lets go of conversations that nobody has changed for so long; 0
	// keeps them whatever their age.
	OlderThan time.Duration
	// MaxBytes is the most that the contents of a tenant may be, uncompressed;
	// while they are more, the conversation goes that was changed least recently,
	// the last one too if it must. 0 keeps them whatever their size.
	MaxBytes int64
}

// Prune deletes the conversations of a tenant that a policy does not keep: first by
// age, then by size. It tells their names, in the order in which they went, also
// where it fails. One that is changed meanwhile stays.
func Prune(ctx context.Context, s Store, tenant string, p Policy, now time.Time) (deleted []string, err error) {
	if p.OlderThan <= 0 && p.MaxBytes <= 0 {
		return nil, nil
	}
	all, err := s.Conversations(ctx, tenant)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b Conversation) int { return a.Updated.Compare(b.Updated) })
	st, err := s.Stats(ctx, tenant)
	if err != nil {
		return nil, err
	}
	bytes := st.Bytes
	for i := range all {
		old := p.OlderThan > 0 && now.Sub(all[i].Updated) > p.OlderThan
		large := p.MaxBytes > 0 && bytes > p.MaxBytes
		if !old && !large {
			break // those that follow are younger
		}
		gone, err := s.Delete(ctx, tenant, all[i].Name, &all[i].Revision)
		if errors.Is(err, ErrNoConversation) || errors.Is(err, ErrChanged) {
			continue
		}
		if err != nil {
			return deleted, err
		}
		bytes -= gone.Bytes
		deleted = append(deleted, all[i].Name)
	}
	return deleted, nil
}
