package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

var _ timeline.Deciding = (*Store)(nil)

// deciding makes processes that decide about a conversation wait for one another until the end
// of the transaction, which contains no wait for a client. Changes need not wait. A decision
// that the server loses with its last milliseconds was never made: nobody waits for the disk.
const deciding = "SELECT pg_advisory_xact_lock(hashint8($1), hashtext($2)), set_config('synchronous_commit', 'off', true)"

// unknown selects the plans of calls and the decisions of a conversation that are not among $3:
// of the plans only the newest $4.
const unknown = `SELECT r.kind, r.key, r.trunk, r.depth, r.time, CASE WHEN r.kind = 'decision' THEN r.data END, r.contents
	FROM conversation c JOIN record r ON r.tenant = c.tenant AND r.conversation = c.id
	WHERE c.tenant = $1 AND c.name = $2 AND NOT r.key = ANY ($3::text[]) AND (r.kind = 'decision' OR r.kind = 'plan' AND position('-' IN r.key) > 0
		AND NOT 'p' || substr(r.key, position('-' IN r.key)) = ANY ($3::text[])
		AND r.n > coalesce((SELECT p.n FROM record p WHERE p.tenant = c.tenant AND p.conversation = c.id AND p.kind = 'plan' ORDER BY p.n DESC OFFSET $4 LIMIT 1), 0))`

// decide writes a decision unless there are unknown ones. Decisions count downwards from -1, so
// that they do not meet the records of changes.
const decide = `INSERT INTO record (tenant, conversation, n, trunk, depth, time, hash, kind, key, contents, data)
	SELECT c.tenant, c.id, (SELECT least(min(o.n), 0) - 1 FROM record o WHERE o.tenant = c.tenant AND o.conversation = c.id), 0, 0, $6, $7, 'decision', $5, '{}', $8
	FROM conversation c WHERE c.tenant = $1 AND c.name = $2 AND NOT EXISTS (` + unknown + `)
	ON CONFLICT (tenant, conversation, kind, key) DO UPDATE SET time = excluded.time, data = excluded.data, hash = excluded.hash`

// Decide implements timeline.Deciding.
func (s *Store) Decide(ctx context.Context, tenant string, d timeline.Decision) (others []timeline.Record, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	if s.readOnly {
		return nil, s.refuse("write")
	}
	id, err := s.tenantID(ctx, tenant)
	if err != nil {
		return nil, s.explain("write", err)
	}
	now, data := timeline.Micro(d.Now).UnixMicro(), d.Data
	if data == nil {
		data = []byte{}
	}
	hash := [16]byte(seal.Record(tenant, d.Conversation, timeline.KindDecision, d.Key, timeline.Place{}, now, data,
		nil))
	known := append([]string{d.Key}, d.Known...)
	found := int64(0)
	err = s.again(ctx, func() error {
		return s.transaction(ctx, func(t *transaction) error {
			t.begin(id, shared)
			b := &t.batch
			b.Queue(deciding, id, d.Conversation)
			number(b, "SELECT coalesce((SELECT id FROM conversation WHERE tenant = $1 AND name = $2), 0)", &found, id,
				d.Conversation)
			b.Queue(`DELETE FROM record r USING conversation c WHERE c.tenant = $1 AND c.name = $2
				AND r.tenant = c.tenant AND r.conversation = c.id AND r.kind = 'decision' AND r.time < $3`, id,
				d.Conversation, now-timeline.DecisionAge.Microseconds())
			b.Queue(decide, id, d.Conversation, known, d.Plans, d.Key, now, hash, data)
			b.Queue(unknown, id, d.Conversation, known, d.Plans).Query(func(rows pgx.Rows) (err error) {
				others, err = scanRecords(rows)
				return err
			})
			return t.commit(ctx, s.notices.of(s.notice(id, d.Conversation)))
		})
	})
	if err == nil && found == 0 {
		err = noRows(pgx.ErrNoRows, timeline.ErrNoConversation, d.Conversation)
	}
	return others, s.explain("write", err)
}
