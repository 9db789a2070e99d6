package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

func TestPasswordsAreNotShown(t *testing.T) {
	const secret = "geheim%2Fs3cret"
	for _, url := range []string{
		"postgres://u:" + secret + "@127.0.0.1:1/d?connect_timeout=1",
		"postgresql://u@127.0.0.1:1/d?connect_timeout=1&password=" + secret,
		"postgres://u:" + secret + "@127.0.0.1:1/d?sslmode=nonsense",
		"postgres://u:" + secret + "@127.0.0.1:1/d?pool_max_conns=many",
		"postgres://u:" + secret + "@127.0.0.1:notaport/d",
		"postgres://u:" + secret + "@127.0.0.1:1/d?sslcert=/nowhere&sslkey=/nowhere&sslpassword=" + secret,
		"postgres://u:" + secret + "%zz@h/d",
	} {
		_, err := postgres.Open(ctx, url, postgres.Options{})
		if err == nil {
			t.Errorf("%s: no error", url)
			continue
		}
		for _, text := range []string{err.Error(), postgres.Redact(url)} {
			if strings.Contains(text, "geheim") || strings.Contains(text, "s3cret") {
				t.Errorf("shown: %s", text)
			}
		}
		var of *timeline.StoreError
		if !errors.As(err, &of) || of.Hint == "" {
			t.Errorf("no hint: %v", err)
		}
	}
}

func TestRedactKeepsWhatPeopleNeed(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://u:p@h:5432/d?sslmode=require": "postgres://u:xxxxx@h:5432/d?sslmode=require",
		"postgres://u@h/d":                        "postgres://u@h/d",
		"postgres://h/d?password=p&user=u":        "postgres://h/d?password=xxxxx&user=u",
		"folder":                                  "postgres://…",
	} {
		if got := postgres.Redact(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func TestOpenRefusesWhatItCannotUse(t *testing.T) {
	url := pgtest.URL(t)
	for _, o := range []postgres.Options{{MustExist: true}, {ReadOnly: true}} {
		if _, err := postgres.Open(ctx, url, o); !errors.Is(err, timeline.ErrNone) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := postgres.Open(ctx, pgtest.With(url, "search_path", "nowhere"), postgres.Options{}); !errors.Is(err,
		timeline.ErrNone) {
		t.Errorf("a schema that is not there: %v", err)
	}
	s := open(t, url)
	add(t, s, timeline.Local, "c", "1")
	reader, err := postgres.Open(ctx, url, postgres.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := reader.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Now: now}); !errors.Is(err,
		timeline.ErrReadOnly) {
		t.Error(err)
	}
	if c, err := reader.Conversation(ctx, timeline.Local, "c"); err != nil || c.Head.Depth != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := s.Backup(ctx, "x"); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "pg_dump") {
		t.Errorf("backup: %v", err)
	}
}

// TestAnOlderProgramUsesNewerTablesThatAllowIt: old and new servers run side by side while
// they are replaced one by one.
func TestAnOlderProgramUsesNewerTablesThatAllowIt(t *testing.T) {
	url := pgtest.URL(t)
	add(t, open(t, url), timeline.Local, "c", "1")
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000, true)"); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, url), timeline.Local, "c", "2")
	if _, err := c.Exec(ctx, "UPDATE setting SET value = 1000 WHERE name = 'oldest'"); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Open(ctx, url, postgres.Options{}); !errors.Is(err, timeline.ErrNewer) {
		t.Error(err)
	}
}
