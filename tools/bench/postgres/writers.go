//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oriel-context/oriel/timeline"
)

func kilobyte(i int) timeline.Message {
	raw := fmt.Appendf(nil, `{"role":"user","content":"%d %s"}`, i,
		strings.Repeat(fmt.Sprintf("%x the tide ", i*7919), 60))
	return timeline.Message{Identity: timeline.HashOf(raw), Raw: raw, Format: "anthropic", Role: "user"}
}

func kilobytes(n int) []timeline.Message {
	all := make([]timeline.Message, n)
	for i := range all {
		all[i] = kilobyte(i)
	}
	return all
}

// writers measures messages a second, each acknowledged, beside plain pgx.
func (b *bench) writers(count, rounds int, latency time.Duration) {
	fmt.Printf("\n%d messages of 1 kB, each acknowledged, %d rounds, %v away\n\n", count, rounds, latency)
	fmt.Println("| writers | plain pgx, messages/s | ours | ours / plain (worst to best round) | ours without row-level security | processor time a message: plain, ours (of the database) |")
	fmt.Println("|---|--:|--:|--:|--:|--:|")
	for _, at := range []int{1, 4, 16} {
		var plain, ours, free, ratios []float64
		var took [2]spent
		for range rounds {
			plain = append(plain, b.plain(count, at, latency, &took[0]))
			ours = append(ours, b.ours(b.away(b.schema(b.server.URL()), latency), count, at, &took[1]))
			// A superuser is not held by it.
			free = append(free, b.ours(b.away(b.schema(b.server.Admin()), latency), count, at, &spent{}))
			ratios = append(ratios, ours[len(ours)-1]/plain[len(plain)-1])
		}
		slices.Sort(plain)
		slices.Sort(ours)
		slices.Sort(free)
		slices.Sort(ratios)
		n := rounds * count
		fmt.Printf("| %d | %.0f | %.0f | %.2f (%.2f–%.2f) | %.0f | %s, %s |\n", at, plain[len(plain)/2],
			ours[len(ours)/2], ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1], free[len(free)/2],
			took[0].of(n),
			took[1].of(n))
	}
}

// spent is processor time.
type spent struct{ own, database time.Duration }

// of returns the processor time of one of n.
func (s spent) of(n int) string {
	return fmt.Sprintf("%.2f ms (%.2f)", (s.own+s.database).Seconds()*1000/float64(n),
		s.database.Seconds()*1000/float64(n))
}

// each runs do for every number in at goroutines, and returns how many it does a second. It adds
// to the processor time.
func (b *bench) each(count, at int, took *spent, do func(writer, i int)) float64 {
	own, database := ownTime(), b.databaseTime()
	defer func() {
		took.own += ownTime() - own
		took.database += b.databaseTime() - database
	}()
	var group sync.WaitGroup
	start := time.Now()
	for w := range at {
		group.Go(func() {
			for i := w; i < count; i += at {
				do(w, i)
			}
		})
	}
	group.Wait()
	return float64(count) / time.Since(start).Seconds()
}

func (b *bench) ours(url string, count, at int, took *spent) float64 {
	s := b.open(url)
	defer s.Close()
	heads := make([]timeline.Place, at)
	messages := kilobytes(count)
	write := func(w int, m timeline.Message) {
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: fmt.Sprint(w), At: heads[w],
			Now: time.Now(), Messages: []timeline.Message{m}})
		check(err)
		heads[w] = a.Head
	}
	b.each(10*at, at, &spent{}, func(w, i int) { write(w, kilobyte(-1-i)) })
	return b.each(count, at, took, func(w, i int) { write(w, messages[i]) })
}

// plain inserts the rows that ours inserts, with values made before: one transaction a
// message in one round trip, prepared, as a superuser.
func (b *bench) plain(count, at int, latency time.Duration, took *spent) float64 {
	url := b.schema(b.server.Admin())
	s := b.open(url)
	for w := range at {
		_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: fmt.Sprint(w), Now: time.Now(),
			Messages: []timeline.Message{kilobyte(-1 - w)}})
		check(err)
	}
	check(s.Close())
	pool, err := pgxpool.New(ctx, pgtestPool(b.away(url, latency)))
	check(err)
	defer pool.Close()
	messages := kilobytes(count)
	hashes := make([][16]byte, count)
	for i := range messages {
		hashes[i] = timeline.HashOf(messages[i].Raw)
	}
	conversations := make([]struct{ id, trunk, depth int64 }, at)
	for w := range conversations {
		c := &conversations[w]
		check(pool.QueryRow(ctx, "SELECT id, trunk, depth FROM conversation WHERE tenant = 1 AND name = $1",
			fmt.Sprint(w)).Scan(&c.id, &c.trunk, &c.depth))
	}
	write := func(w, i int) {
		c := &conversations[w]
		c.depth++
		m, h := &messages[i], hashes[i]
		batch := &pgx.Batch{}
		batch.Queue("begin")
		batch.Queue("INSERT INTO message (tenant, trunk, depth, time, hash, says, content, format, role, ref) VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8, '')", c.trunk, c.depth, int64(i), h, [16]byte(m.Identity), h, m.Format, m.Role)
		batch.Queue("UPDATE conversation SET trunk = $2, depth = $3, revision = revision + 1, updated = $4, hash = $5 WHERE tenant = 1 AND id = $1", c.id, c.trunk, c.depth, int64(i), h)
		batch.Queue("INSERT INTO conversation_trunk (tenant, conversation, trunk, depth) VALUES (1, $1, $2, $3) ON CONFLICT (tenant, conversation, trunk) DO UPDATE SET depth = excluded.depth", c.id, c.trunk, c.depth)
		batch.Queue("INSERT INTO content (tenant, hash, size, codec, refs, data) VALUES (1, $1, $2, 0, 1, $3)", h,
			int64(len(m.Raw)), m.Raw)
		batch.Queue("commit")
		check(pool.SendBatch(ctx, batch).Close())
	}
	return b.each(count, at, took, write)
}

func pgtestPool(url string) string { return url + "&pool_max_conns=16" }
