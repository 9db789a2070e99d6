package postgres_test

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/internal/test/storetest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// childVar tells the test binary to be a child of itself.
const childVar = "ORIEL_TEST_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childVar); job != "" {
		os.Exit(child(job, os.Args[1:]))
	}
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid.checks" })
	if !set { // a round trip takes what many operations in a file take
		checks := "15"
		if testing.Short() {
			checks = "5"
		}
		_ = flag.Set("rapid.checks", checks)
	}
	code := m.Run()
	pgtest.Stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

var ctx = context.Background()

func TestStore(t *testing.T) {
	url := pgtest.URL(t)
	open(t, url)
	storetest.Run(t, func(t *testing.T) timeline.Store {
		empty(t, url)
		return open(t, url)
	})
}

func TestTheThreeStoresAgree(t *testing.T) {
	url := pgtest.URL(t)
	open(t, url)
	storetest.Agree(t, func(t *testing.T) timeline.Store {
		s, err := sqlite.Open(ctx, t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, func(t *testing.T) timeline.Store {
		empty(t, url)
		return open(t, url)
	})
}

// open opens a store, which the test closes at its end.
func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var tables = []string{"content", "trunk", "message", "variant", "conversation", "conversation_trunk", "record",
	"derived"}

// empty deletes all rows. Creating the tables again would take longer.
func empty(t testing.TB, url string) {
	t.Helper()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, "SELECT id FROM tenant")
	if err != nil {
		t.Fatal(err)
	}
	tenants, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	b := &pgx.Batch{}
	for _, id := range tenants {
		b.Queue("SELECT set_config('oriel.tenant', $1::bigint::text, true)", id)
		for _, table := range tables {
			b.Queue("DELETE FROM "+table+" WHERE tenant = $1", id)
		}
	}
	b.Queue("DELETE FROM tenant")
	b.Queue("DELETE FROM token")
	if err := c.SendBatch(ctx, b).Close(); err != nil {
		t.Fatal(err)
	}
}

// text is a message that says what it consists of.
func text(s string) timeline.Message {
	return timeline.Message{Identity: timeline.HashOf([]byte(s)), Raw: []byte(s), Format: "item", Role: "user"}
}

func texts(all ...string) (messages []timeline.Message) {
	for _, s := range all {
		messages = append(messages, text(s))
	}
	return messages
}

// add appends texts to the head of a conversation.
func add(t testing.TB, s timeline.Store, tenant, conversation string, all ...string) timeline.Applied {
	t.Helper()
	var at timeline.Place
	if c, err := s.Conversation(ctx, tenant, conversation); err == nil {
		at = c.Head
	}
	a, err := s.Apply(ctx, tenant, timeline.Change{Conversation: conversation, At: at, Messages: texts(all...),
		Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// verify has the store check itself.
func verify(t testing.TB, s timeline.Store) {
	t.Helper()
	if err := s.Verify(ctx, func(p timeline.Problem) { t.Errorf("verify: %+v", p) }); err != nil {
		t.Fatal(err)
	}
}
