package recall

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// heap is what the program holds.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the second clears what pools still had
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestBytesAreThoseOfTheHeap(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	var talks []string
	for i := range 400 {
		talks = append(talks, fmt.Sprintf("number %d of the %dth letter to Lisbon, with the %dth dog\n", i, i*7919%1009,
			i*104729%997))
	}
	before := heap()
	s := NewScope(Options{Model: &bags{}, Count: func(text string) int { return len(text)/4 + 1 }})
	when := monday
	for i := range 8000 {
		m := Message{Conversation: "c", Block: fmt.Sprint(i), Ref: fmt.Sprintf("%036d", i),
			Role: []string{"user", "assistant"}[i%2], Time: when}
		m.Text = strings.Join(talks[i%300:i%300+1+i%2*16], "")
		if err := s.Add(t.Context(), []Message{m}); err != nil {
			t.Fatal(err)
		}
		when = when.Add(time.Duration(i%30) * time.Hour / 3)
	}
	for _, step := range []string{"words", "vectors"} {
		if step == "vectors" {
			if err := s.Embed(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		find(t, s, "Lisbon", RecallOptions{}) // the index of words keeps a table for queries
		got, want := s.Bytes(), heap()-before
		n, _ := s.Len()
		if math.Abs(float64(got-want)) > .15*float64(want) {
			t.Errorf("%s: %d bytes, the heap has %d more; %d passages", step, got, want, n)
		}
	}
	runtime.KeepAlive(talks)
}
