package call_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/wire"
)

// BenchmarkBegin measures what a call waits for: reading the body, hashing its messages and
// finding its conversation. Each call has the messages of the one before it and two more. The
// name of a case is about the size of its bodies.
func BenchmarkBegin(b *testing.B) {
	for _, c := range []struct {
		name     string
		messages int
		size     int
	}{{"2kB", 4, 400}, {"200kB", 200, 900}, {"1MB", 1000, 950}} {
		b.Run(c.name, func(b *testing.B) {
			store, err := sqlite.Open(ctx, b.TempDir(), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			r := call.NewForTest(call.TestOptions{Options: call.Options{Profile: "off"},
				Parts: call.Parts{Store: store}})
			defer func() {
				if err := r.Close(ctx); err != nil {
					b.Error(err)
				}
				store.Close()
			}()
			message := func(i, of int) json.RawMessage {
				role := []string{"user", "assistant"}[i%2]
				return json.RawMessage(fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":"%d of %d %s"}]}`, role,
					i, of, strings.Repeat("some words ", c.size/11)))
			}
			b.ReportAllocs()
			n, known := 0, 0
			var list []json.RawMessage
			for b.Loop() {
				b.StopTimer()
				n++
				if len(list) == 0 ||
					len(list) > known+c.messages/10+10 { // another conversation, whose beginning is known
					list = nil
					for i := range c.messages {
						list = append(list, message(i, n))
					}
					known = len(list)
					body := (&agent{format: wire.Anthropic,
						list: append(list[:known:known], message(known, n))}).body(n)
					r.Begin(ctx, &call.Request{ID: fmt.Sprint(-n), Tenant: timeline.Local, Format: wire.Anthropic,
						Path: "/v1/messages", Header: http.Header{}, Body: body}).End(nil)
				}
				list = append(list, message(len(list), n), message(len(list)+1, n))
				body := (&agent{format: wire.Anthropic,
					list: append(list[:len(list):len(list)], message(len(list), n))}).body(n)
				request := &call.Request{ID: fmt.Sprint(n), Tenant: timeline.Local, Format: wire.Anthropic,
					Path: "/v1/messages", Header: http.Header{}, Body: body}
				b.SetBytes(int64(len(body)))
				b.StartTimer()
				rec := r.Begin(ctx, request)
				b.StopTimer()
				rec.End(nil)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkLong is a call of a long conversation, with all that is done in the
// background: what grows with it should be reading and hashing alone.
func BenchmarkLong(b *testing.B) {
	for _, messages := range []int{1000, 10_000, 60_000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			dir := b.TempDir()
			store, err := sqlite.Open(ctx, dir, sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			r := call.NewForTest(call.TestOptions{Options: call.Options{Profile: "off"},
				Parts: call.Parts{Store: store}})
			message := func(i int) json.RawMessage {
				role := []string{"user", "assistant"}[i%2]
				return json.RawMessage(
					fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":"message %d of the long one: %x %s"}]}`,
						role, i, i*7919, strings.Repeat("some words ", 8)))
			}
			var list []json.RawMessage
			for i := range messages {
				list = append(list, message(i))
			}
			n := 0
			send := func() {
				n++
				list = append(list, message(len(list)))
				body := (&agent{format: wire.Anthropic, list: list}).body(n)
				list = append(list, message(len(list)))
				request := &call.Request{ID: fmt.Sprint(n), Tenant: timeline.Local, Format: wire.Anthropic,
					Path: "/v1/messages", Header: http.Header{}, Body: body}
				b.SetBytes(int64(len(body)))
				b.StartTimer()
				rec := r.Begin(ctx, request)
				begun := time.Now()
				rec.End(nil)
				for r.Counters().Written.Load()+r.Counters().Failed.Load() < int64(n) {
					runtime.Gosched()
				}
				b.StopTimer()
				after += time.Since(begun)
			}
			send() // the first one writes everything
			after = 0
			b.StartTimer()
			for b.Loop() {
				b.StopTimer()
				send()
				b.StartTimer()
			}
			var m runtime.MemStats
			list = nil
			runtime.GC()
			runtime.ReadMemStats(&m)
			stats, err := store.Stats(ctx, timeline.Local)
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Close(ctx); err != nil {
				b.Error(err)
			}
			b.ReportMetric(float64(after.Microseconds())/float64(n-1)/1000, "background-ms/op")
			b.ReportMetric(float64(stats.Disk)/float64(stats.Messages), "disk-B/message")
			b.ReportMetric(float64(m.HeapAlloc)/float64(stats.Messages), "heap-B/message")
			if failed := r.Counters().Failed.Load(); failed > 0 {
				b.Errorf("%d calls failed", failed)
			}
		})
	}
}

var after time.Duration
