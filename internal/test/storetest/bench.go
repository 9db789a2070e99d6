package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// BenchmarkResend resends a conversation of n messages with one new message
// each time. This should cost little more than hashing the messages. It
// reports both times and their difference. s must be empty.
func BenchmarkResend(b *testing.B, s timeline.Store, n int) {
	var h sent
	for i := range n {
		text := fmt.Sprintf("message %d of a conversation that is long, as those of agents are", i)
		h = append(h, struct{ text, raw string }{text,
			fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q}]}`, text)})
	}
	messages := h.resent()
	says := func(i int) timeline.Hash { return timeline.HashOf(messages[i].Raw) }
	log := timeline.NewLog(s, timeline.LogOptions{})
	if _, err := log.Append(ctx, timeline.Local, "c", messages, says, timeline.Change{Now: noon}); err != nil {
		b.Fatal(err)
	}
	var hashing, resending time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		for i := range messages {
			timeline.HashOf(messages[i].Raw)
		}
		hashing += time.Since(start)
		raw := fmt.Appendf(nil, `{"role":"user","content":"turn %d"}`, len(messages))
		messages = append(messages, timeline.Resent{Raw: raw, Format: "item", Role: "user"})
		start = time.Now()
		a, err := log.Append(ctx, timeline.Local, "c", messages, says, timeline.Change{Now: noon})
		resending += time.Since(start)
		if err != nil || a.New != 1 || a.Known != len(messages)-1 {
			b.Fatalf("%+v, %v", a, err)
		}
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(b.N) }
	b.ReportMetric(each(hashing), "ms-hash/op")
	b.ReportMetric(each(resending), "ms-resend/op")
	b.ReportMetric(each(resending-hashing), "ms-beyond/op")
}
