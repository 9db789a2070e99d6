//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// calls measures calls of growing conversations: what a call waits for, and the processor
// time of all that it causes.
func (b *bench) calls(count, rounds int) {
	type figures struct{ wait, own, database []time.Duration }
	all := map[string]*figures{"SQLite": {}, "PostgreSQL": {}}
	for range rounds {
		for _, name := range []string{"SQLite", "PostgreSQL"} {
			var store timeline.Store
			var end func()
			if name == "SQLite" {
				store, end = b.file()
			} else {
				s := b.open(b.schema(b.server.URL()))
				store, end = s, func() { check(s.Close()) }
			}
			own, database := ownTime(), b.databaseTime()
			waits := serveCalls(store, "c", count)
			f := all[name]
			f.own = append(f.own, (ownTime()-own)/time.Duration(count))
			f.database = append(f.database, (b.databaseTime()-database)/time.Duration(count))
			f.wait = append(f.wait, waits...)
			end()
		}
	}
	fmt.Printf("\n%d calls of 5 conversations, 2 kB each turn, %d rounds; SQLite with sync=full\n\n", count, rounds)
	fmt.Println("| | a call waits, median (99 %) | processor time of a call, Oriel | database |")
	fmt.Println("|---|--:|--:|--:|")
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		f := all[name]
		slices.Sort(f.wait)
		slices.Sort(f.own)
		slices.Sort(f.database)
		fmt.Printf("| %s | %v (%v) | %v | %v |\n", name, f.wait[len(f.wait)/2].Round(time.Microsecond),
			f.wait[len(f.wait)*99/100].Round(time.Microsecond),
			f.own[len(f.own)/2].Round(time.Microsecond), f.database[len(f.database)/2].Round(time.Microsecond))
	}
}

// serveCalls makes calls one after the other, of new conversations whose texts have a name,
// and returns how long each waited.
func serveCalls(store timeline.Store, name string, count int) (waits []time.Duration) {
	e, err := oriel.Open(ctx, oriel.Config{Store: store, NoEmbed: true})
	check(err)
	defer func() { check(e.Close()) }()
	const conversations = 5
	lists := make([][]json.RawMessage, conversations)
	for n := range count {
		list := &lists[n%conversations]
		for i, role := range []string{"user", "assistant", "user"} {
			if i == 0 && len(*list) > 0 {
				continue
			}
			*list = append(*list, json.RawMessage(fmt.Sprintf(`{"role":%q,"content":"%s: %d of %d %s"}`, role, name, n,
				n%conversations, strings.Repeat(fmt.Sprintf("words %d ", n), 100))))
		}
		body, err := json.Marshal(map[string]any{"model": "claude-sonnet-4-5", "max_tokens": 100,
			"system": "You are a harbour master.", "messages": *list})
		check(err)
		r := &call.Request{ID: fmt.Sprint(name, " ", n), Tenant: timeline.Local, Format: wire.Anthropic,
			Path: "/v1/messages", Header: http.Header{}, Body: body}
		start := time.Now()
		c := call.Of(e).Begin(ctx, r)
		waits = append(waits, time.Since(start))
		c.End(nil)
	}
	return waits
}
