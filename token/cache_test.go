package token

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/oriel-context/oriel/chat"
)

func TestCacheIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	const size = 64 * cacheShards
	c := NewCache(size)
	hot := c.key(1, []byte("hot"), 0)
	c.put(hot, raw{text: 7, fixed: -1, rough: true})
	for i := range uint64(20 * size) {
		c.put(c.key(1, binary.LittleEndian.AppendUint64(nil, i), 0), raw{text: int(i)})
		if got, ok := c.get(hot); !ok || got != (raw{7, -1, true}) {
			t.Fatalf("after %d others: %+v %v", i, got, ok)
		}
	}
	if n := c.Len(); n > size+cacheShards || n < size/4 {
		t.Errorf("%d entries, want about %d", n, size)
	}
	if _, ok := c.get(c.key(1, binary.LittleEndian.AppendUint64(nil, 0), 0)); ok {
		t.Error("the oldest entry is still there")
	}
}

func TestCacheKeepsModelsAndReadingsApart(t *testing.T) {
	c := NewCache(0)
	a, b := c.rules(Builtin().Lookup("gpt-4o")), c.rules(Builtin().Lookup("gpt-4"))
	if a == b {
		t.Error("two encodings share entries")
	}
	if a != c.rules(Builtin().Lookup("gpt-4.1")) {
		t.Error("the same rules under another name do not share entries")
	}
	unknown, text := []chat.Part{{Kind: chat.Unknown}}, []chat.Part{{Kind: chat.Text}}
	if c.key(a, []byte("x"), shape(unknown)) == c.key(a, []byte("x"), shape(text)) {
		t.Error("two readings of the same bytes share an entry")
	}
}

func TestCacheServesManyAtOnce(t *testing.T) {
	cache := NewCache(1000)
	msgs := transcript(200, 300)
	want := NewCounter(Builtin().Lookup("gpt-4o"), Options{}).Request(&chat.Request{Messages: msgs}).Total
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				c := NewCounter(Builtin().Lookup("gpt-4o"), Options{Cache: cache})
				if got := c.Request(&chat.Request{Messages: msgs}).Total; got != want {
					t.Errorf("%d, want %d", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// transcript makes n messages of about size bytes, as an agent resends them.
func transcript(n, size int) []chat.Message {
	msgs := make([]chat.Message, n)
	for i := range msgs {
		var b bytes.Buffer
		for k := 0; b.Len() < size; k++ {
			fmt.Fprintf(&b, "line %d of message %d: func f%d(x int) int { return x*%d }\n", k, i, k, i)
		}
		text := chat.Quote(b.String())
		msgs[i] = chat.Message{
			Role:  chat.User,
			Raw:   []byte(`{"role":"user","content":` + string(text) + `}`),
			Parts: []chat.Part{{Kind: chat.Text, Text: text}},
		}
	}
	return msgs
}

func benchmarkRequest(b *testing.B, o Options) {
	r := &chat.Request{
		System:   []chat.Part{txt(strings.Repeat("You are a careful engineer. ", 500))},
		Tools:    []chat.ToolDef{{Name: "w", Raw: []byte(weatherTool)}},
		Messages: transcript(1000, 1000),
	}
	bytes := 0
	for i := range r.Messages {
		bytes += len(r.Messages[i].Raw)
	}
	c := NewCounter(Builtin().Lookup("claude-opus-5"), o)
	c.Request(r)
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		c.Request(r)
	}
}

// A history of 1,000 messages and 1 MB, counted anew and counted again.
func BenchmarkRequest1000Messages(b *testing.B) {
	b.Run("resent", func(b *testing.B) { benchmarkRequest(b, Options{Cache: NewCache(0)}) })
	b.Run("uncached", func(b *testing.B) { benchmarkRequest(b, Options{}) })
}

func BenchmarkResentParallel(b *testing.B) {
	r := &chat.Request{Messages: transcript(1000, 1000)}
	c := NewCounter(Builtin().Lookup("gpt-4o"), Options{Cache: NewCache(0)})
	c.Request(r)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Request(r)
		}
	})
}
