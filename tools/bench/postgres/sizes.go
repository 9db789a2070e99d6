//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
)

// sizes measures changes, reads and calls of a small history and of large ones. The time of
// the database is that of its sessions.
func (b *bench) sizes(sizes []int, calls int) {
	base := b.server.Admin() // rows are filled in past row-level security
	url := b.schema(base)
	s := b.open(url)
	defer s.Close()
	_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "first", Now: time.Now(),
		Messages: []timeline.Message{kilobyte(-1)}})
	check(err)
	fmt.Println("\n| stored messages | a change of one message, median (99 %) | processor time, Oriel | database | 20 messages read | a call, processor time, Oriel | database | MB on disk |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|")
	stored := 0
	for _, size := range sizes {
		began, database := time.Now(), b.databaseTime()
		b.configure(forFill)
		for stored < size {
			next := min(size, stored+1_000_000)
			b.fill(url, stored, next)
			stored = next
		}
		b.configure(nil)
		b.settle(url)
		fmt.Fprintf(os.Stderr, "%d messages after %.0f s, %.0f s of the database's processor time\n", size,
			time.Since(began).Seconds(), (b.databaseTime() - database).Seconds())
		b.measure(s, size, calls)
	}
}

// forFill are settings of the server that make a fill fast. Those that main gives cannot be
// changed.
var forFill = map[string]string{"checkpoint_timeout": "1h", "autovacuum": "off", "synchronous_commit": "off"}

// configure changes settings of the server, and resets those of forFill that are not among
// them.
func (b *bench) configure(settings map[string]string) {
	c, err := pgx.Connect(ctx, b.server.Admin())
	check(err)
	defer c.Close(ctx)
	for name := range forFill {
		statement := "ALTER SYSTEM RESET " + name
		if value, ok := settings[name]; ok {
			statement = fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", name, value)
		}
		_, err := c.Exec(ctx, statement)
		check(err)
	}
	_, err = c.Exec(ctx, "SELECT pg_reload_conf()")
	check(err)
}

// fillStatements add messages of 256 bytes with their numbers from $1 to $2, in conversations
// of 1000 with a call for every second one. Contents come in the order of their index, whose
// pages are then written once for each fill.
var fillStatements = []string{
	`INSERT INTO content (tenant, hash, size, codec, refs, data) SELECT 1, md5('c' || i)::uuid, 256, 0, 1, decode(repeat(md5('x' || i), 16), 'hex') FROM generate_series($1::bigint, $2) i ORDER BY 2`,
	`INSERT INTO trunk (tenant, id, origin, origin_depth, says) SELECT 1, 1000000 + i, 0, 0, md5('t' || i)::uuid FROM generate_series($1::bigint / 1000 + 1, $2 / 1000 + 1) i ON CONFLICT DO NOTHING`,
	`INSERT INTO message (tenant, trunk, depth, time, hash, says, content, format, role, ref)
		SELECT 1, 1000000 + i / 1000 + 1, i % 1000 + 1, i, md5('h' || i)::uuid, md5('s' || i)::uuid, md5('c' || i)::uuid, 'anthropic', 'user', '' FROM generate_series($1::bigint, $2) i`,
	`INSERT INTO conversation (tenant, id, trunk, depth, revision, created, updated, hash, name, project, continues)
		SELECT 1, 1000000 + i, 1000000 + i, 1000, 500, i, i, md5('v' || i)::uuid, 'conversation ' || i, '', '' FROM generate_series($1::bigint / 1000 + 1, $2 / 1000 + 1) i ON CONFLICT DO NOTHING`,
	`INSERT INTO conversation_trunk (tenant, conversation, trunk, depth) SELECT 1, 1000000 + i, 1000000 + i, 1000 FROM generate_series($1::bigint / 1000 + 1, $2 / 1000 + 1) i ON CONFLICT DO NOTHING`,
	`INSERT INTO record (tenant, conversation, n, trunk, depth, time, hash, kind, key, contents, data)
		SELECT 1, 1000000 + i / 1000 + 1, i % 1000 + 1, 1000000 + i / 1000 + 1, i % 1000 + 1, i, md5('r' || i)::uuid, 'call', md5('k' || i), ARRAY[md5('p')::uuid], decode(repeat(md5('d' || i), 18), 'hex')
		FROM generate_series($1::bigint, $2, 2) i`,
}

// fill adds messages to the history.
func (b *bench) fill(url string, from, to int) {
	c, err := pgx.Connect(ctx, url)
	check(err)
	defer c.Close(ctx)
	for _, statement := range fillStatements {
		_, err := c.Exec(ctx, statement, from, to-1)
		check(err)
	}
}

// settle lets the server do now what it would do some time after a fill.
func (b *bench) settle(url string) {
	c, err := pgx.Connect(ctx, url)
	check(err)
	defer c.Close(ctx)
	for _, statement := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		_, err = c.Exec(ctx, statement)
		check(err)
	}
}

func (b *bench) measure(s timeline.Store, size, calls int) {
	const changes = 1000
	var at timeline.Place
	name := fmt.Sprint("at ", size)
	write := func(i int) {
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, At: at, Now: time.Now(),
			Messages: []timeline.Message{kilobyte(size*7 + i)}})
		check(err)
		at = a.Head
	}
	for i := range 20 {
		write(-i - 1)
	}
	var took []time.Duration
	own, database := ownTime(), b.sessionTime()
	for i := range changes {
		start := time.Now()
		write(i)
		took = append(took, time.Since(start))
	}
	own, database = (ownTime()-own)/changes, (b.sessionTime()-database)/changes
	var reads []time.Duration
	for i := range 200 {
		start := time.Now()
		depth := int64(i%3)*20 + 20
		check(s.Messages(ctx, timeline.Local, at, depth, depth+19, false, func(*timeline.Entry) error { return nil }))
		reads = append(reads, time.Since(start))
	}
	serveCalls(s, name+" before", calls/4) // statements are prepared, pages are read
	ownCall, databaseCall := ownTime(), b.sessionTime()
	serveCalls(s, name, calls)
	ownCall, databaseCall = (ownTime()-ownCall)/time.Duration(calls),
		(b.sessionTime()-databaseCall)/time.Duration(calls)
	slices.Sort(took)
	slices.Sort(reads)
	st, err := s.Stats(ctx, timeline.Local)
	check(err)
	fmt.Printf("| %d | %v (%v) | %v | %v | %v | %v | %v | %d |\n", st.Messages, took[changes/2].Round(time.Microsecond),
		took[changes*99/100].Round(time.Microsecond),
		own.Round(time.Microsecond), database.Round(time.Microsecond), reads[len(reads)/2].Round(time.Microsecond),
		ownCall.Round(time.Microsecond), databaseCall.Round(time.Microsecond), st.Disk>>20)
}
