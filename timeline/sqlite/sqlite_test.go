package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/internal/test/storetest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// childVar tells the test binary to be a child of itself.
const childVar = "ORIEL_TEST_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childVar); job != "" {
		os.Exit(child(job, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) timeline.Store { return open(t, t.TempDir()) })
}

var ctx = context.Background()

// open opens a store, which the test closes at its end.
func open(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
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
func add(t testing.TB, s timeline.Store, conversation string, all ...string) timeline.Applied {
	t.Helper()
	var at timeline.Place
	if c, err := s.Conversation(ctx, timeline.Local, conversation); err == nil {
		at = c.Head
	}
	a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: conversation, At: at, Messages: texts(all...),
		Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// history is what a conversation's messages say.
func history(t testing.TB, s timeline.Store, conversation string) string {
	t.Helper()
	c, err := s.Conversation(ctx, timeline.Local, conversation)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	if err := s.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, false, func(e *timeline.Entry) error {
		all = append(all, string(e.Raw))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// verify has the store check itself.
func verify(t testing.TB, s timeline.Store) {
	t.Helper()
	for _, p := range problems(t, s) {
		t.Errorf("verify: %+v", p)
	}
}

func problems(t testing.TB, s timeline.Store) (found []timeline.Problem) {
	t.Helper()
	if err := s.Verify(ctx, func(p timeline.Problem) { found = append(found, p) }); err != nil {
		t.Fatal(err)
	}
	return found
}

func BenchmarkAppend(b *testing.B) {
	s := open(b, b.TempDir())
	var at timeline.Place
	now := time.Now()
	for i := range b.N {
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: at, Now: now,
			Messages: texts(prose(i, 1000))})
		if err != nil {
			b.Fatal(err)
		}
		at = a.Head
	}
}

// prose is a text of its own for each i.
func prose(i, size int) string {
	words := []string{"harbour", "forecast", "because", "returns", "while", "error in", "function", "between", "water",
		"already", "the list of", "checks"}
	b := []byte(`{"role":"user","content":"`)
	for j := 0; len(b) < size; j++ {
		b = fmt.Appendf(b, "%s the %d. ", words[(i*7+j*j*31)%len(words)], (i*2654435761+j*40503)%100000)
	}
	return string(b) + `"}`
}
