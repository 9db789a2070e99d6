package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
)

// SPEC B7: events are lines of JSON, for their owner alone, in two files that are
// bounded together.
func TestEventFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	const most = 8000
	f, err := openEventLog(path, most)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 20 {
				f.Write(oriel.Event{Kind: oriel.EventCut, Conversation: fmt.Sprintf("talk-%d\n", n),
					TokensBefore: 100 + i, TokensAfter: i, Cost: 0.5})
			}
		}()
	}
	wg.Wait()
	if err := f.Close(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil { // is made private again
		t.Fatal(err)
	}
	if f, err = openEventLog(path, most); err != nil { // adds to what is there
		t.Fatal(err)
	}
	f.Write(oriel.Event{Kind: oriel.EventPin})
	if err := errors.Join(f.Close(time.Minute), f.Close(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".1"} {
		data, err := os.ReadFile(name)
		if err != nil || len(data) > most {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info, err)
		}
		for line := range strings.Lines(string(data)) {
			var e map[string]any
			if err := json.Unmarshal([]byte(line), &e); err != nil || e["kind"] == "" {
				t.Errorf("%q: %v", line, err)
			}
			if e["kind"] == oriel.EventCut && (e["tokens_before"] == nil || e["cost"] != 0.5) {
				t.Errorf("%v", e)
			}
		}
	}
	if _, err := openEventLog(t.TempDir(), 0); err == nil {
		t.Error("a folder is no file")
	}
}
