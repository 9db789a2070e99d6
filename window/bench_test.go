//go:build unix

package window

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// BenchmarkFit fits a request of about 1 kB a message to half of its tokens, slide
// to 40 messages: parse, hash, plan and splice. Counts are cached, as for an
// agent that sends its history again, or cold. cpu-ms/op is the processor time of
// all threads, garbage collection included; at 1,000 messages the bars are 2 ms
// cached and 40 ms cold.
func BenchmarkFit(b *testing.B) {
	for _, messages := range []int{100, 1000, 10_000} {
		body := benchRequest(messages)
		warm := token.NewCache(0)
		half := benchTokens(b, body, warm) / 2
		for _, policy := range []string{"ladder", "slide", "halve", "fifo", "mask", "relevance"} {
			o := Options{Format: wire.Anthropic, Policy: policy, Budget: half,
				Now: time.Date(2025, 7, 10, 12, 0, 0, 0, time.UTC)}
			switch policy {
			case "slide":
				o.MaxItems = 40
			case "fifo":
				o.MaxItems = messages // tokens decide
			}
			name := fmt.Sprintf("messages=%d/policy=%s", messages, policy)
			b.Run(name+"/counts=cached", func(b *testing.B) {
				benchFit(b, body, o, func() *token.Cache { return warm })
			})
			b.Run(name+"/counts=cold", func(b *testing.B) {
				benchFit(b, body, o, func() *token.Cache { return token.NewCache(0) })
			})
		}
	}
}

func benchFit(b *testing.B, body []byte, o Options, cache func() *token.Cache) {
	fit := func() *Plan {
		o.Cache = cache()
		out, plan, err := Fit(b.Context(), body, o)
		if err != nil {
			b.Fatal(err)
		}
		if len(out) >= len(body) || plan.TokensAfter > o.Budget {
			b.Fatalf("%s left %d of %d bytes and %d tokens, want at most %d", o.Policy, len(out), len(body),
				plan.TokensAfter, o.Budget)
		}
		return plan
	}
	fit()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	before, calls := cpuTime(b), 0
	for b.Loop() {
		fit()
		calls++
	}
	b.ReportMetric(float64(cpuTime(b)-before)/1e6/float64(calls), "cpu-ms/op")
}

// BenchmarkFitUnchanged fits a request that is within its budget: what a proxy
// pays on most requests.
func BenchmarkFitUnchanged(b *testing.B) {
	for _, messages := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
			body := benchRequest(messages)
			o := Options{Format: wire.Anthropic, Cache: token.NewCache(0)}
			o.Budget = benchTokens(b, body, o.Cache)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			before, calls := cpuTime(b), 0
			for b.Loop() {
				out, _, err := Fit(b.Context(), body, o)
				if err != nil {
					b.Fatal(err)
				}
				if &out[0] != &body[0] {
					b.Fatal("the body was copied")
				}
				calls++
			}
			b.ReportMetric(float64(cpuTime(b)-before)/1e6/float64(calls), "cpu-ms/op")
		})
	}
}

// cpuTime is the processor time of the process in nanoseconds.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func benchTokens(b *testing.B, body []byte, cache *token.Cache) int {
	_, plan, err := Fit(b.Context(), body, Options{Format: wire.Anthropic, Cache: cache, Budget: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	return plan.TokensBefore
}

// benchRequest is an agent's request of so many messages of about 1 kB: a prompt,
// four calls with their results, an answer, and so on. Some files are read more
// than once. The same number gives the same bytes.
func benchRequest(messages int) []byte {
	r := rand.New(rand.NewPCG(3, uint64(messages)))
	prose := []string{
		"The parser keeps the offset of every value, so that an edit touches nothing else. ",
		"I would rather return the error here than log it twice. ",
		"Please make the retry loop honour the deadline, and add a test for the café case… ",
		"Two of the nine tests fail since the last change to the store. ",
		"Let me look at the callers first. ",
	}
	output := []string{
		`func (s *Store) Get(id int64) (Item, error) {\n\tif id <= 0 {\n\t\treturn Item{}, fmt.Errorf(\"get %d: %w\", id, ErrID)\n\t}\n`,
		`2026-03-01T10:22:07Z INFO request done path=/v1/items status=200 ms=12\n`,
		`--- FAIL: TestRetry (0.02s)\n    retry_test.go:88: got 3 calls, want 4\n`,
		`{\"id\": 4711, \"name\": \"lamp\", \"tags\": [\"new\", \"red\"], \"price\": 19.5}\n`,
	}
	var b bytes.Buffer
	text := func(from []string, n int) {
		for end := b.Len() + n; b.Len() < end; {
			b.WriteString(from[r.IntN(len(from))])
		}
	}
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":8192,"system":"`)
	text(prose, 4000)
	b.WriteString(`","tools":[{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}],"messages":[`)
	for i := range messages {
		if i > 0 {
			b.WriteByte(',')
		}
		switch at := i % 10; {
		case at == 0:
			b.WriteString(`{"role":"user","content":"`)
			text(prose, 500+r.IntN(700))
			b.WriteString(`"}`)
		case at == 9 || i == messages-1:
			b.WriteString(`{"role":"assistant","content":"`)
			text(prose, 500+r.IntN(700))
			b.WriteString(`"}`)
		case at%2 == 1:
			b.WriteString(`{"role":"assistant","content":[{"type":"text","text":"`)
			text(prose, 100+r.IntN(400))
			fmt.Fprintf(&b, `"},{"type":"tool_use","id":"toolu_%06d","name":"read","input":{"path":"/src/store/file_%d.go"}}]}`, i+1, r.IntN(1+messages/4))
		default:
			fmt.Fprintf(&b, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%06d","content":"`, i)
			text(output, 500+r.IntN(2200))
			b.WriteString(`"}]}`)
		}
	}
	b.WriteString(`]}`)
	return b.Bytes()
}
