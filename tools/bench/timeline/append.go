package main

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// ours appends messages one by one to at conversations at once.
func (b *bench) ours(messages []timeline.Message, level sqlite.Sync, at int) float64 {
	dir := b.fresh()
	defer os.RemoveAll(dir)
	s, err := sqlite.Open(ctx, dir, sqlite.Options{Sync: level})
	check(err)
	defer s.Close()
	var heads []timeline.Place
	for i := range at {
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: fmt.Sprint(i), Now: time.Now(),
			Messages: []timeline.Message{message(b.next(100))}})
		check(err)
		heads = append(heads, a.Head)
	}
	var group sync.WaitGroup
	start := time.Now()
	for i := range at {
		group.Go(func() {
			name, head := fmt.Sprint(i), heads[i]
			for j := i; j < len(messages); j += at {
				a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, At: head, Now: time.Now(),
					Messages: messages[j : j+1]})
				check(err)
				head = a.Head
			}
		})
	}
	group.Wait()
	return perSecond(len(messages), time.Since(start))
}

// raw inserts the rows that ours inserts for one conversation.
func (b *bench) raw(messages []timeline.Message, level string) float64 {
	dir := b.fresh()
	defer os.RemoveAll(dir)
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	first := message(b.next(100))
	a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "0", Now: time.Now(),
		Messages: []timeline.Message{first}})
	check(err)
	check(s.Close())

	pragmas := url.Values{"_pragma": {"foreign_keys(1)", "secure_delete(1)", "journal_mode(wal)", "synchronous(" +
		level + ")", "cache_size(-16000)", "temp_store(memory)", "busy_timeout(10000)"}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "oriel.db")+"?"+pragmas.Encode())
	check(err)
	defer db.Close()
	c, err := db.Conn(ctx)
	check(err)
	defer c.Close()
	prepare := func(q string) *sql.Stmt {
		s, err := c.PrepareContext(ctx, q)
		check(err)
		return s
	}
	begin, commit := prepare("BEGIN IMMEDIATE"), prepare("COMMIT")
	content := prepare("INSERT INTO content (tenant, hash, size, codec, refs, data) VALUES (1, ?, ?, 0, 1, ?)")
	insert := prepare("INSERT INTO message (trunk, depth, hash, says, content, format, role, time, ref) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
	conversation := prepare("UPDATE conversation SET trunk = ?, depth = ?, revision = ?, updated = ? WHERE id = 1")
	use := prepare("UPDATE conversation_trunk SET depth = ? WHERE conversation = 1 AND trunk = ?")
	hashes, chains := make([]timeline.Hash, len(messages)), make([]timeline.Hash, len(messages))
	for i := range messages {
		hashes[i] = timeline.HashOf(messages[i].Raw)
		chains[i] = timeline.Chain(chains[max(0, i-1)], &messages[i], hashes[i])
	}

	start := time.Now()
	for i := range messages {
		m, depth, now := &messages[i], a.Head.Depth+int64(i)+1, time.Now().UnixMicro()
		_, err := begin.Exec()
		check(err)
		r, err := content.Exec(hashes[i][:], len(m.Raw), m.Raw)
		check(err)
		id, err := r.LastInsertId()
		check(err)
		_, err = insert.Exec(a.Head.Trunk, depth, chains[i][:], m.Identity[:], id, m.Format, m.Role, now, m.Ref)
		check(err)
		_, err = conversation.Exec(a.Head.Trunk, depth, i+2, now)
		check(err)
		_, err = use.Exec(depth, a.Head.Trunk)
		check(err)
		_, err = commit.Exec()
		check(err)
	}
	return perSecond(len(messages), time.Since(start))
}
