package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// AddToken implements timeline.Store.
func (s *Store) AddToken(ctx context.Context, t timeline.AccessToken) error {
	if err := t.Check(); err != nil {
		return err
	}
	return s.changeTokens(ctx, func() error {
		if _, ok := s.tokens[t.Hash]; ok {
			return fmt.Errorf("%w: token %s exists", timeline.ErrInvalid, t.Hash.ID())
		}
		t = t.Micro()
		if t.Role == timeline.RoleConsole {
			maps.DeleteFunc(s.tokens, func(_ timeline.TokenHash, had timeline.AccessToken) bool {
				over := func(at time.Time) bool { return !at.IsZero() && !at.After(t.Created) }
				return had.Role == t.Role && (over(had.Expires) || over(had.Revoked))
			})
		}
		s.tokens[t.Hash] = t
		return nil
	})
}

// RevokeToken implements timeline.Store.
func (s *Store) RevokeToken(ctx context.Context, hash timeline.TokenHash, at time.Time) error {
	return s.changeTokens(ctx, func() error {
		t, ok := s.tokens[hash]
		switch {
		case !ok:
			return fmt.Errorf("%w: %s", timeline.ErrNoToken, hash.ID())
		case t.Revoked.IsZero():
			t.Revoked = timeline.Micro(at)
			s.tokens[hash] = t
		}
		return nil
	})
}

func (s *Store) changeTokens(ctx context.Context, change func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return timeline.ErrClosed
	}
	return change()
}

// Token implements timeline.Store.
func (s *Store) Token(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error) {
	if _, err := s.read(ctx, ""); err != nil {
		return timeline.AccessToken{}, err
	}
	defer s.mu.RUnlock()
	if t, ok := s.tokens[hash]; ok {
		return t, nil
	}
	return timeline.AccessToken{}, fmt.Errorf("%w: %s", timeline.ErrNoToken, hash.ID())
}

// Tokens implements timeline.Store.
func (s *Store) Tokens(ctx context.Context) ([]timeline.AccessToken, error) {
	if _, err := s.read(ctx, ""); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Values(s.tokens), func(a, b timeline.AccessToken) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return bytes.Compare(a.Hash[:], b.Hash[:])
	}), nil
}
