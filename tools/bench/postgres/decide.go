//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oriel-context/oriel/timeline"
)

// decider decides one thing about a conversation, as one of several servers.
type decider struct {
	pool *pgxpool.Pool
	id   int64 // of the conversation
	name string
}

const (
	asTenant = "SELECT set_config('oriel.tenant', '1', true), set_config('synchronous_commit', 'off', true)"
	unknown  = "SELECT key, data FROM record WHERE tenant = 1 AND conversation = $1 AND kind IN ('plan', 'decision') AND NOT key = ANY ($2)"
	decision = `INSERT INTO record (tenant, conversation, n, trunk, depth, time, hash, kind, key, contents, data)
		SELECT 1, $1, (SELECT least(coalesce(min(n), 0), 0) - 1 FROM record WHERE tenant = 1 AND conversation = $1), 0, 0, 0, gen_random_uuid(), 'decision', $3, '{}', $4
		WHERE NOT EXISTS (` + unknown + ")"
)

// decide runs one batch that inserts a decision beside those that are known and returns the
// others, and waits for its turn by a statement.
func (d *decider) decide(turn string, known []string, key string, data []byte) (others []string) {
	b := &pgx.Batch{}
	b.Queue("begin isolation level read committed")
	b.Queue(asTenant)
	if turn != "" {
		b.Queue(turn, d.id)
	}
	b.Queue(decision, d.id, known, key, data)
	b.Queue(unknown, d.id, append(known, key)).Query(func(rows pgx.Rows) error {
		var k string
		var data []byte
		_, err := pgx.ForEachRow(rows, []any{&k, &data}, func() error {
			others = append(others, k)
			return nil
		})
		return err
	})
	b.Queue("commit")
	check(d.pool.SendBatch(ctx, b).Close())
	return others
}

const (
	rowLock      = "SELECT FROM conversation WHERE tenant = 1 AND id = $1 FOR NO KEY UPDATE"
	advisoryLock = "SELECT pg_advisory_xact_lock(1, $1::int)"
)

// number decides by a unique key: the number after the last decision that is known.
func (d *decider) number(known []string, key string, data []byte) (others []string) {
	b := &pgx.Batch{}
	b.Queue("begin isolation level read committed")
	b.Queue(asTenant)
	b.Queue(`INSERT INTO record (tenant, conversation, n, trunk, depth, time, hash, kind, key, contents, data)
		SELECT 1, $1, $2, 0, 0, 0, gen_random_uuid(), 'decision', $3, '{}', $4
		WHERE NOT EXISTS (SELECT FROM record WHERE tenant = 1 AND conversation = $1 AND n < $2) ON CONFLICT DO NOTHING`,
		d.id, -1-len(known), key, data)
	b.Queue("SELECT key, data FROM record WHERE tenant = 1 AND conversation = $1 AND n <= $2 AND key <> $3", d.id,
		-1-len(known), key).Query(func(rows pgx.Rows) error {
		var k string
		var data []byte
		_, err := pgx.ForEachRow(rows, []any{&k, &data}, func() error {
			others = append(others, k)
			return nil
		})
		return err
	})
	b.Queue("commit")
	check(d.pool.SendBatch(ctx, b).Close())
	return others
}

// held takes a lock and reads, decides, and writes while it holds the lock.
func (d *decider) held(known []string, key string, data []byte) (others []string) {
	c, err := d.pool.Acquire(ctx)
	check(err)
	defer c.Release()
	b := &pgx.Batch{}
	b.Queue("begin isolation level read committed")
	b.Queue(asTenant)
	b.Queue(advisoryLock, d.id)
	b.Queue(unknown, d.id, known).Query(func(rows pgx.Rows) error {
		var k string
		var data []byte
		_, err := pgx.ForEachRow(rows, []any{&k, &data}, func() error {
			others = append(others, k)
			return nil
		})
		return err
	})
	check(c.SendBatch(ctx, b).Close())
	b = &pgx.Batch{}
	if len(others) == 0 {
		b.Queue(decision, d.id, known, key, data)
	}
	b.Queue("commit")
	check(c.SendBatch(ctx, b).Close())
	return others
}

// revision decides by the revision of the conversation, which every change raises.
func (d *decider) revision(s timeline.Store, known []string, key string, data []byte) (others []string) {
	for {
		now, err := s.Conversation(ctx, timeline.Local, d.name)
		check(err)
		keys, err := s.RecordKeys(ctx, timeline.Local, d.name, "decision")
		check(err)
		for _, k := range keys {
			if !slices.Contains(known, k) {
				others = append(others, k)
			}
		}
		if len(others) > 0 {
			_, err := s.Records(ctx, timeline.Local, d.name, "decision", others[0])
			check(err)
			return others
		}
		_, err = s.Apply(ctx, timeline.Local, timeline.Change{Conversation: d.name, Expect: &now.Revision, Stay: true,
			Put: []timeline.Record{{Kind: "decision", Key: key, Data: data}}, Now: time.Now()})
		if !errors.Is(err, timeline.ErrChanged) {
			check(err)
			return nil
		}
	}
}

// decisions measures how long servers wait for a decision about a conversation: one alone,
// two in the same moment, and one while a call of the conversation is stored.
func (b *bench) decisions(count int) {
	fmt.Printf("\na decision of 4 kB, median of %d\n\n", count)
	fmt.Println("| mechanism | latency | alone | two at once, the later one | while calls are stored |")
	fmt.Println("|---|--:|--:|--:|--:|")
	for _, latency := range []time.Duration{0, 30 * time.Millisecond} {
		url := b.schema(b.server.URL())
		s := b.open(url)
		away := b.away(url, latency)
		pool, err := pgxpool.New(ctx, pgtestPool(away))
		check(err)
		distant := b.open(away)
		for _, m := range []struct {
			name string
			do   func(d *decider, known []string, key string, data []byte) []string
		}{
			{"revision of the conversation, two batches",
				func(d *decider, known []string, key string, data []byte) []string {
					return d.revision(distant, known, key, data)
				}},
			{"advisory lock, held while deciding", (*decider).held},
			{"row lock, one batch", func(d *decider, known []string, key string, data []byte) []string {
				return d.decide(rowLock, known, key, data)
			}},
			{"unique number, one batch", (*decider).number},
			{"advisory lock, one batch", func(d *decider, known []string, key string, data []byte) []string {
				return d.decide(advisoryLock, known, key, data)
			}},
		} {
			fmt.Printf("| %s | %v |", m.name, latency)
			for _, with := range []string{"alone", "two", "stored"} {
				fmt.Printf(" %.1f ms |", b.decided(s, distant, pool, count, m.name+with, with, m.do))
			}
			fmt.Println()
		}
		pool.Close()
		check(s.Close())
		check(distant.Close())
	}
}

// decided returns the median of the milliseconds until all that decide know the decision.
func (b *bench) decided(s, distant timeline.Store, pool *pgxpool.Pool, count int, name, with string,
	do func(d *decider, known []string, key string, data []byte) []string) float64 {
	var took []float64
	data := make([]byte, 4096)
	for i := range count {
		d := decider{pool: pool, name: fmt.Sprint(name, i)}
		_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: d.name, Now: time.Now(),
			Messages: []timeline.Message{kilobyte(i)}})
		check(err)
		tx, err := pool.Begin(ctx)
		check(err)
		_, err = tx.Exec(ctx, asTenant)
		check(err)
		check(tx.QueryRow(ctx, "SELECT id FROM conversation WHERE name = $1", d.name).Scan(&d.id))
		check(tx.Commit(ctx))
		var group sync.WaitGroup
		deciders := 1
		switch with {
		case "two":
			deciders = 2
		case "stored":
			group.Go(func() {
				_, err := distant.Apply(ctx, timeline.Local, timeline.Change{Conversation: d.name, Now: time.Now(),
					Messages: []timeline.Message{kilobyte(-i)}, Put: []timeline.Record{{Kind: "call", Key: "c"}}})
				check(err)
			})
			time.Sleep(time.Millisecond)
		}
		var mu sync.Mutex
		var last time.Duration
		for n := range deciders {
			group.Go(func() {
				began := time.Now()
				known := []string{}
				for {
					others := do(&d, known, fmt.Sprint("p-", n), data)
					if len(others) == 0 || with == "two" { // the other's decision counts
						break
					}
					known = append(known, others...)
				}
				mu.Lock()
				defer mu.Unlock()
				last = max(last, time.Since(began))
			})
		}
		group.Wait()
		took = append(took, last.Seconds()*1000)
	}
	slices.Sort(took)
	return took[len(took)/2]
}
