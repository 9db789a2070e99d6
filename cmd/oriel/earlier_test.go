package main

import (
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/internal/test/pgtest"
)

// recordedEarlier returns a file of testdata/earlier.
func recordedEarlier(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "earlier", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFoldersOfEarlierVersionsAreRead opens a folder that an earlier version wrote.
func TestFoldersOfEarlierVersionsAreRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "oriel.db"), recordedEarlier(t, "oriel.db"), 0o600); err != nil {
		t.Fatal(err)
	}
	worksAsBefore(t, "--data", dir)
}

// TestDatabasesOfEarlierVersionsAreRead opens a database that an earlier version wrote.
func TestDatabasesOfEarlierVersionsAreRead(t *testing.T) {
	url := pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.PgConn().Exec(t.Context(), string(recordedEarlier(t, "postgres.sql"))).ReadAll(); err != nil {
		t.Fatal(err)
	}
	worksAsBefore(t, "--store", url)
}

// worksAsBefore runs commands on a recorded history. What they must print is what the version
// that recorded it printed.
func worksAsBefore(t *testing.T, where ...string) {
	t.Setenv("ORIEL_DATA", t.TempDir())
	run := func(args ...string) string {
		t.Helper()
		code, out, errOut := command(t, append(args, where...)...)
		if code != 0 {
			t.Fatalf("oriel %s: exit %d: %s%s", strings.Join(args, " "), code, out, errOut)
		}
		return strings.Join(strings.Fields(out+errOut), " ")
	}
	for _, c := range []struct {
		args string
		want []string
	}{
		{"verify", []string{"146 messages"}},
		{"conversations", []string{"demo", "$0.84 sonnet-4-6 The nightly build of harbor is red"}},
		{"show demo 17", []string{"17 tool", "1,739 tokens, pinned", `total="35.31 EUR" waiting=1`}},
		{"show demo --plan", []string{"21,273 9,671 8 (12k) 8 results cleared (over 20,000 tokens)",
			"61,203 9,907 10 (11k) undone: 10 results cleared", "p11, made",
			"36 into the digest, 14 left out, 10 brought back", "128–141 × 14 left out 6.1k"}},
		{"recall host and port of the staging database --conversation demo",
			[]string{"Staging is pg.staging.harbor.example, and the port is 6543, through pgbouncer"}},
		{"usage", []string{"73", "$0.84"}},
		{"unpin demo 17", []string{"unpinned 17"}},
		{"release demo", []string{"released"}},
		{"undo demo p3",
			[]string{"undone p3: messages 9,13,25,27,29,31,33,35,39 will be held in view until oriel release"}},
		{"show demo --plan p3", []string{"31,216 9,136 9 (11k) undone: 9 results cleared"}},
	} {
		out := run(strings.Fields(c.args)...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("oriel %s: %q is not in %s", c.args, want, out)
			}
		}
	}
	for call, want := range map[string]string{ // of the bytes that were sent
		"1":  "6e7a33279afbab24d06225986392ee24c7e0cb5a8aaed3a5334e5f5d4b7900d1",
		"40": "813c2f2dba99cda9256b9810270881581efc184764f4b0b5e0991da4ec853ffb",
		"60": "6aabbfab66e9114b7a1f0aecad6a191d54680a4104ef7186963114641311f8df",
		"73": "9544d7eebe2039b0cfa0f1aec0e34fa59aee2f8e2f56403411da28f32eaee045",
	} {
		_, out, _ := command(t, append([]string{"show", "demo", "--sent", call}, where...)...)
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(out))); got != want {
			t.Errorf("call %s: other bytes were sent: %s\n%.300s", call, got, out)
		}
	}
}
