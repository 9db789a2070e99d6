package timeline

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Policy decides which conversations to delete. The zero Policy keeps all.
type Policy struct {
	// OlderThan deletes conversations whose last message is older than this (see
	// Said); 0 means no limit.
	OlderThan time.Duration
	// MaxBytes limits the uncompressed size of a tenant's contents. While they
	// exceed it, Prune deletes the conversation whose last message is the oldest, even
	// the last one. 0 means no limit.
	MaxBytes int64
}

// Prune deletes the conversations of a tenant that the policy does not keep, first
// by age, then by size. It returns their names in the order of deletion, also with
// an error. A conversation that changes in the meantime stays.
func Prune(ctx context.Context, s Store, tenant string, p Policy, now time.Time) (deleted []string, err error) {
	if p.OlderThan <= 0 && p.MaxBytes <= 0 {
		return nil, nil
	}
	all, err := s.Conversations(ctx, tenant)
	if err != nil {
		return nil, err
	}
	said := make(map[string]time.Time, len(all))
	for i := range all {
		if said[all[i].Name], err = Said(ctx, s, tenant, &all[i]); err != nil {
			return nil, err
		}
		// Words that another conversation said before are stored once, with their first
		// time.
		if said[all[i].Name].Before(all[i].Created) {
			said[all[i].Name] = all[i].Updated
		}
	}
	slices.SortStableFunc(all, func(a, b Conversation) int { return said[a.Name].Compare(said[b.Name]) })
	st, err := s.Stats(ctx, tenant)
	if err != nil {
		return nil, err
	}
	bytes := st.Bytes
	for i := range all {
		old := p.OlderThan > 0 && now.Sub(said[all[i].Name]) > p.OlderThan
		large := p.MaxBytes > 0 && bytes > p.MaxBytes
		if !old && !large {
			break // the rest are younger
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
