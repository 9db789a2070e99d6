//go:build unix

package serve

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
)

// A pipe that nobody reads delays nobody: events beyond what it and the queue hold are
// dropped, and their number is written when somebody reads.
func TestEventsToAPipeThatNobodyReadsAreDroppedAndCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openEventLog(path, 0) // there is no reader yet
	if err != nil {
		t.Fatal(err)
	}
	const events = 4000
	for range events {
		f.Write(oriel.Event{Kind: oriel.EventCut, Conversation: strings.Repeat("x", 1000)})
	}
	if f.Dropped() == 0 {
		t.Fatal("4 MB were taken, and nobody reads")
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	read, missing := 0, 0
	for lines := bufio.NewScanner(reader); read+missing < events && lines.Scan(); {
		var e oriel.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind == oriel.EventDropped {
			missing += e.Items
		} else {
			read++
		}
	}
	if read+missing != events || int64(missing) != f.Dropped() {
		t.Errorf("%d read, %d missing, %d dropped of %d", read, missing, f.Dropped(), events)
	}
	if err := f.Close(time.Minute); err == nil {
		t.Error("Close does not tell of events that were dropped")
	}
}

// Close does not wait for a reader that does not read.
func TestClosingEventsIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openEventLog(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		f.Write(oriel.Event{Kind: oriel.EventCut, Conversation: strings.Repeat("x", 1000)})
	}
	if err := f.Close(0); err == nil || !strings.Contains(err.Error(), "nobody read them") {
		t.Error(err)
	}
}
