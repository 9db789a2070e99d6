package wire_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// A reader of a stream asks before it holds more, gives back what it no longer holds, and
// where it is refused goes on without the rest: the usage and the end are still read.
func TestStreamReaderAsksForItsMemory(t *testing.T) {
	chunk := func(text string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n", text)
	}
	end := "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n"
	many := strings.Repeat(chunk(strings.Repeat("a", 100)), 30_000)
	one := chunk(strings.Repeat("a", 3_000_000))
	for name, c := range map[string]struct {
		stream string
		most   int
		whole  bool
		least  int // what is asked for at the least
	}{
		"many small events":             {many, 1 << 30, true, 3_000_000},
		"one large event":               {one, 1 << 30, true, 3_000_000},
		"large events one by one":       {one + one + one, 1 << 30, true, 9_000_000},
		"many small events, refused":    {many, 1 << 20, false, 0},
		"one large event, refused":      {one, 1 << 20, false, 0},
		"a second large event, refused": {one + one, 8 << 20, false, 3_000_000},
	} {
		held, most, asked := 0, 0, 0
		r := wire.NewStreamReader(wire.Chat)
		r.Take = func(n int) bool {
			if n > 0 && held+n > c.most {
				return false
			}
			held += n
			most = max(most, held)
			asked++
			return true
		}
		all := c.stream + end
		for len(all) > 0 {
			n := min(len(all), 32<<10)
			r.Write([]byte(all[:n]))
			all = all[n:]
		}
		reply := r.Reply()
		if reply.Complete != c.whole || r.Over() == c.whole || reply.Usage.Input != 7 {
			t.Errorf("%s: complete %v, over %v, usage %+v", name, reply.Complete, r.Over(), reply.Usage)
		}
		if held < c.least || held < r.Kept() || most > c.most {
			t.Errorf("%s: %d bytes are held, %d are kept", name, held, r.Kept())
		}
		if large := strings.HasPrefix(c.stream, one); large && c.whole && most < r.Kept()+len(one) {
			t.Errorf("%s: at most %d bytes were asked for beside an event of %d", name, most, len(one))
		}
		if asked > 100 {
			t.Errorf("%s: asked %d times", name, asked)
		}
	}
}

// The memory that is taken for the arguments of a call that come in parts follows the size of what
// comes: a text is not copied with each of its parts, and places in them are accounted for.
func TestArgumentsInPartsTakeMemoryForWhatComes(t *testing.T) {
	part := func(path, value string) string {
		return `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"` + path +
			`","stringValue":"` + value + `"}],"willContinue":true}}]}}]}` + "\n\n"
	}
	deep := strings.Repeat(".a", 60)
	for name, c := range map[string]struct {
		stream func(i int) string
		n      int
		over   bool
	}{
		"a long text":        {func(int) string { return part("$.text", "0123456789") }, 20_000, false},
		"many deep places":   {func(i int) string { return part(fmt.Sprint("$.a", i, deep), "") }, 20_000, true},
		"one place, renewed": {func(int) string { return part("$.a"+deep, "x") }, 20_000, false},
	} {
		r := wire.NewStreamReader(wire.Gemini)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		came := 0
		for i := range c.n {
			event := c.stream(i)
			came += len(event)
			r.Write([]byte(event))
		}
		reply := r.Reply()
		runtime.ReadMemStats(&after)
		if r.Over() != c.over {
			t.Errorf("%s: over %v, %d bytes are kept", name, r.Over(), r.Kept())
		}
		if want := c.n * 10; name == "a long text" && len(reply.Message) < want {
			t.Errorf("%s: %d bytes of %d", name, len(reply.Message), want)
		}
		// Whatever is kept is accounted for; the rest is that of reading events.
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(100*came+2*wire.DefaultStreamLimit) {
			t.Errorf("%s: %d bytes were taken for %d", name, took, came)
		}
	}
}
