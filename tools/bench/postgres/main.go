//go:build linux

// Command postgres measures timeline/postgres: calls beside timeline/sqlite, messages a
// second beside plain pgx that inserts the same rows, and changes to a small and a large
// history, all against one server that it starts, by turns.
//
//	tools/bench/postgres/run
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/tools/check/kit"
)

var ctx = context.Background()

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	log.SetFlags(0)
	count := flag.Int("messages", 2000, "messages of 1 kB in a round")
	rounds := flag.Int("rounds", 3, "rounds for each contender")
	calls := flag.Int("calls", 200, "calls in a round")
	large := flag.Int("large", 1_000_000, "messages of the large history; 10,000,000 take 10 GB")
	decisions := flag.Int("decisions", 60, "decisions by each mechanism")
	only := flag.String("only", "", "calls, decide, writers or sizes; empty: all")
	latency := flag.Duration("latency", 0, "how far away the database is from writers")
	set := flag.String("set", "jit=off", "a further setting of the server")
	flag.Parse()
	server, err := pgtest.New("fsync=on", "full_page_writes=on", "shared_buffers=256MB", "max_wal_size=256MB", *set)
	check(err)
	defer server.Stop()
	b := &bench{server: server}
	b.relay, err = kit.NewRelay(server)
	check(err)
	b.findServer()
	for _, part := range []struct {
		name string
		run  func()
	}{
		{"calls", func() { b.calls(*calls, *rounds) }},
		{"decide", func() { b.decisions(*decisions) }},
		{"writers", func() { b.writers(*count, *rounds, *latency) }},
		{"sizes", func() { b.sizes([]int{100, *large / 10, *large}, *calls) }},
	} {
		if *only == "" || *only == part.name {
			part.run()
		}
	}
}

type bench struct {
	server  *pgtest.Server
	process int // of the server
	schemas int
	relay   *kit.Relay // to the server
}

// away returns a URL by which the server is as far away as the latency says.
func (b *bench) away(url string, latency time.Duration) string {
	if latency == 0 {
		return url
	}
	b.relay.Delay(latency / 2)
	host, port, err := b.relay.Address()
	check(err)
	return pgtest.With(pgtest.With(url, "host", host), "port", port)
}

// schema returns the URL of a new schema.
func (b *bench) schema(base string) string {
	b.schemas++
	name := fmt.Sprint("bench", b.schemas)
	c, err := pgx.Connect(ctx, base)
	check(err)
	defer c.Close(ctx)
	_, err = c.Exec(ctx, "CREATE SCHEMA "+name)
	check(err)
	return pgtest.With(base, "search_path", name)
}

func (b *bench) open(url string) *postgres.Store {
	s, err := postgres.Open(ctx, url, postgres.Options{})
	check(err)
	return s
}

func (b *bench) file() (timeline.Store, func()) {
	dir, err := os.MkdirTemp("", "oriel-bench-")
	check(err)
	s, err := sqlite.Open(ctx, dir, sqlite.Options{Sync: sqlite.Full})
	check(err)
	return s, func() { check(s.Close()); check(os.RemoveAll(dir)) }
}

// findServer finds the process of the server: the parent of its sessions.
func (b *bench) findServer() {
	c, err := pgx.Connect(ctx, b.server.Admin())
	check(err)
	defer c.Close(ctx)
	b.process, _ = strconv.Atoi(stat(int(c.PgConn().PID()))[1])
}

// stat returns the fields of /proc/N/stat after the name.
func stat(process int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return make([]string, 50)
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

const tick = time.Second / 100

// databaseTime returns the processor time of the server and all of its sessions, also those
// that have ended.
func (b *bench) databaseTime() (sum time.Duration) {
	add := func(fields []string, from, to int) {
		for _, f := range fields[from:to] {
			n, _ := strconv.Atoi(f)
			sum += time.Duration(n) * tick
		}
	}
	add(stat(b.process), 11, 15)
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if f := stat(n); f[1] == strconv.Itoa(b.process) {
			add(f, 11, 13)
		}
	}
	return sum
}

// sessionTime returns the processor time of the sessions of clients that have not ended:
// without that of checkpoints and of vacuum, which a fill before causes.
func (b *bench) sessionTime() (sum time.Duration) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		text, _ := os.ReadFile(path)
		if f := stat(n); f[1] == strconv.Itoa(b.process) && strings.Contains(string(text), "[local]") {
			for _, field := range f[11:13] {
				ticks, _ := strconv.Atoi(field)
				sum += time.Duration(ticks) * tick
			}
		}
	}
	return sum
}

// ownTime returns the processor time of this process.
func ownTime() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
