package sqlite

import (
	"context"

	"github.com/oriel-context/oriel/timeline"
)

var _ timeline.Whole = (*Store)(nil)

// Tenants implements timeline.Whole.
func (s *Store) Tenants(ctx context.Context) (all []string, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.each("SELECT name FROM tenant ORDER BY name", func(r *rows) { all = append(all, r.text(0)) })
	})
	return all, err
}

// AllRecords implements timeline.Whole.
func (s *Store) AllRecords(ctx context.Context, tenant, conversation string) (records []timeline.Record, err error) {
	err = s.view(ctx, func(c *conn) error {
		id, _, err := c.conversationID(tenant, conversation)
		if err != nil {
			return err
		}
		records, err = c.readRecords(id, "", "")
		return err
	})
	return records, err
}

// DerivedKinds implements timeline.Whole.
func (s *Store) DerivedKinds(ctx context.Context, tenant string) (kinds []string, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.each(`SELECT DISTINCT d.kind FROM derived d JOIN content c ON c.id = d.content JOIN tenant t ON t.id = c.tenant WHERE t.name = ? ORDER BY d.kind`,
			func(r *rows) { kinds = append(kinds, r.text(0)) }, tenant)
	})
	return kinds, err
}
