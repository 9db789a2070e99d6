package thread

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// crowd is a book with many in it, and the steps that its last request took.
type crowd struct {
	t    *testing.T
	book *Index
	now  time.Time
	work int // of the last request
	most int // of any request
}

func newCrowd(t *testing.T, messages int) *crowd {
	return &crowd{t: t, book: NewIndex(memory.New(), Options{Messages: messages}),
		now: time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)}
}

// said is a message in a word; a space after it makes other bytes of the same message.
func said(role chat.Role, text string) chat.Message {
	word := text
	for word != "" && word[len(word)-1] == ' ' {
		word = word[:len(word)-1]
	}
	raw := fmt.Appendf(nil, `{"role":%q,"content":%q}%s`, role, word, text[len(word):])
	return chat.Message{Role: role, Raw: raw, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote(word)}}}
}

// talk is what a user and an assistant say in turn.
func talk(words ...string) []chat.Message {
	out := make([]chat.Message, len(words))
	for i, w := range words {
		out[i] = said([]chat.Role{chat.User, chat.Assistant}[i%2], w)
	}
	return out
}

// words are n different ones after a name.
func words(name string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(name, i)
	}
	return out
}

// repeat is n words that are a few in turn.
func repeat(n int, few ...string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = few[i%len(few)]
	}
	return out
}

// call finds the conversation of a request and ends the call with a reply, or without.
func (c *crowd) call(session string, messages []chat.Message, reply string) *Thread {
	c.t.Helper()
	c.now = c.now.Add(time.Second)
	r := &Request{Tenant: timeline.Local, Hints: Hints{Session: session}, Messages: messages, Now: c.now}
	t := c.book.tenant(timeline.Local)
	before := t.work
	th, err := c.book.Find(ctx, r)
	if err != nil {
		c.t.Fatal(err)
	}
	var said []chat.Message
	if reply != "" {
		said = talk("", reply)[1:]
	}
	c.book.Done(th, said, "")
	c.book.Stored(th, true)
	c.work = t.work - before
	c.most = max(c.most, c.work)
	return th
}

// long grows a conversation to n messages by calls of a few new ones, and returns them.
func (c *crowd) long(session string, all []string) []chat.Message {
	c.call(session, talk(all[:len(all)-1]...), all[len(all)-1])
	return talk(all...)
}

// The steps of finding a conversation grow with the request and not faster, whatever is
// in it.
func TestStepsGrowWithTheRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for name, shape := range map[string]func(c *crowd, n int){
		"two messages in turn, before many branches that end with them": func(c *crowd, n int) {
			for k := range 32 {
				for b := range 8 {
					c.call("s", talk(fmt.Sprint("x", k), "a", fmt.Sprint("y", b), "a", "b"), "a")
				}
			}
			c.call("s", talk(repeat(n, "a", "b")...), "")
		},
		"one message again and again": func(c *crowd, n int) {
			c.long("s", append([]string{"x"}, repeat(n, "a")...))
			c.call("s", talk(append([]string{"y", "z", "y", "z", "y", "z"}, repeat(n, "a")...)...), "")
		},
		"the end of a long conversation": func(c *crowd, n int) {
			all := c.long("s", words("w", 2*n))
			c.call("s", append(all[n:], talk("and")...), "")
		},
		"the end of a long conversation, nobody says whose": func(c *crowd, n int) {
			all := c.long("", words("w", 2*n))
			c.call("", append(all[n:], talk("and")...), "")
		},
		"a conversation in other bytes": func(c *crowd, n int) {
			c.long("s", words("w", n))
			again := words("w", n)
			for i := range again {
				again[i] += " "
			}
			c.call("s", talk(again...), "")
		},
		"every other message in other bytes": func(c *crowd, n int) {
			c.long("s", words("w", n))
			again := words("w", n)
			for i := range again {
				if i%2 == 0 {
					again[i] += " "
				}
			}
			c.call("s", talk(again...), "")
		},
		"a branch at every message": func(c *crowd, n int) {
			all := words("w", n)
			for i := range 40 {
				at := n * i / 40
				c.call("s", talk(append(all[:at:at], fmt.Sprint("other", i))...), "reply")
			}
			c.call("s", talk(append(all, "new")...), "")
		},
		"nothing known": func(c *crowd, n int) {
			c.call("", talk(words("w", n)...), "")
		},
		"replies in the client's words": func(c *crowd, n int) {
			all := talk(words("w", n)...)
			for i := n - 40; i < n; i += 2 {
				c.call("", all[:i+1], "the model's words")
			}
		},
		"its own middle, again": func(c *crowd, n int) {
			all := words("w", n)
			c.long("s", all)
			c.call("s", talk(append(append(all[:n/2:n/2], all...), "new")...), "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 600
			small, large := newCrowd(t, 1<<20), newCrowd(t, 1<<20)
			shape(small, n)
			shape(large, 10*n)
			if large.work > 11*small.work+100 || large.work > 20*10*n {
				t.Errorf("%d messages take %d steps, %d take %d", n, small.work, 10*n, large.work)
			}
		})
	}
}

// The steps of finding a conversation do not grow with what is known.
func TestStepsDoNotGrowWithTheBook(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for name, shape := range map[string]func(c *crowd, n int){
		"conversations that nobody names": func(c *crowd, n int) {
			for i := range n {
				c.call("", talk(fmt.Sprint("question ", i)), "answer")
			}
		},
		"conversations with the same opener": func(c *crowd, n int) {
			for i := range n {
				c.call("", talk("hello"), "hello")
				c.call("", talk("hello", "hello", fmt.Sprint("question ", i)), "answer")
			}
		},
		"openers that are not answered": func(c *crowd, n int) {
			for range n {
				c.call("", talk("hello"), "")
			}
		},
		"histories of one session": func(c *crowd, n int) {
			for i := range n {
				c.call("s", talk(fmt.Sprint("question ", i)), "answer")
			}
		},
		"branches of one conversation": func(c *crowd, n int) {
			for i := range n {
				c.call("s", talk("question", "answer", fmt.Sprint("and ", i)), fmt.Sprint("answer ", i))
			}
		},
		"sessions": func(c *crowd, n int) {
			for i := range n {
				c.call(fmt.Sprint("s", i), talk("hello"), "hello")
			}
		},
		"conversations that end alike": func(c *crowd, n int) {
			for i := range n {
				c.call("", talk(fmt.Sprint("question ", i), "a", "b", "c", "d"), "a")
			}
			c.call("", talk("a", "b", "c", "d", "a", "b"), "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			small, large := newCrowd(t, 1<<20), newCrowd(t, 1<<20)
			shape(small, 300)
			shape(large, 3000)
			if large.most > small.most*11/10+8 {
				t.Errorf("a request takes %d steps among few, %d among ten times as many", small.most, large.most)
			}
		})
	}
}

// Forgetting takes as long as remembering: no call pays for many.
func TestForgettingIsSpread(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	c := newCrowd(t, 20_000)
	for i := range 6000 {
		c.call("", talk(fmt.Sprint("question ", i)), "answer")
		if size := c.book.size.Load(); size > 20_000 {
			t.Fatalf("%d messages are remembered", size)
		}
	}
	if len(c.book.tenant(timeline.Local).conversations) > 2000 {
		t.Error("nothing was forgotten")
	}
	if c.most > 20 {
		t.Errorf("a call took %d steps", c.most)
	}
}

// What is forgotten leaves nothing behind.
func TestNothingIsLeftOfWhatIsForgotten(t *testing.T) {
	c := newCrowd(t, 1<<20)
	for i := range 50 {
		session := []string{"", fmt.Sprint("s", i%7)}[i%2]
		th := c.call(session, talk("hello", "hello", fmt.Sprint("question ", i%10)), "answer")
		c.book.AddPlan(th, &plan.Plan{ID: fmt.Sprint("mark", i), Covers: 1}, c.book.PlansAt(th))
		c.call(session, talk("hello", "hello", fmt.Sprint("question ", i%10), "in other words", "on"), "yes")
		c.call(session, talk("hello", "hello", fmt.Sprint("other ", i)), "no")
	}
	tenant := c.book.tenant(timeline.Local)
	for tenant.forget() {
	}
	if n := c.book.size.Load(); n != 0 ||
		len(tenant.conversations)+len(tenant.spaces)+len(tenant.begins)+len(tenant.sessions)+tenant.idle.Len() != 0 {
		t.Errorf("%d messages, %d conversations, %d namespaces, %d openers, %d sessions are left", n,
			len(tenant.conversations), len(tenant.spaces), len(tenant.begins), len(tenant.sessions))
	}
}

// A tenant does not wait for another.
func TestTenantsDoNotWaitForOneAnother(t *testing.T) {
	b := NewIndex(memory.New(), Options{})
	busy := b.tenant("busy")
	busy.mu.Lock()
	defer busy.mu.Unlock()
	if _, err := b.Find(ctx, &Request{Tenant: "other", Messages: talk("hello"), Now: time.Now()}); err != nil {
		t.Error(err)
	}
}

// Messages are hashed and compared without the lock: whoever asks meanwhile is answered.
func TestMessagesAreHashedWithoutTheLock(t *testing.T) {
	c := newCrowd(t, 0)
	tenant := c.book.tenant(timeline.Local)
	n := newNamespace(space{})
	r := &Request{Tenant: timeline.Local, Messages: talk(words("w", 100)...)}
	r.prepare()
	tenant.mu.Lock()
	defer tenant.mu.Unlock()
	p, need := tenant.descend(n, r, place{}, 4)
	if p.depth != 0 || need != nil || r.unidentified(0) != 1 {
		t.Errorf("known %d, %d identities were computed under the lock", p.depth, r.unidentified(0))
	}
}

func TestARequestOfTooManyMessages(t *testing.T) {
	_, err := NewIndex(memory.New(), Options{}).Find(ctx,
		&Request{Tenant: timeline.Local, Messages: make([]chat.Message, MaxMessages+1)})
	if !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
}

// A history that its client tells anew takes a few steps per message, however long it is and
// however many conversations end with the same words.
func TestWorkForAHistoryToldAnew(t *testing.T) {
	for _, n := range []int{100, 4000} {
		c := newCrowd(t, 1<<20)
		for i := range maxEnds { // they end alike, and none of them is the one
			c.call("", talk(append(words(fmt.Sprint("other", i), n), "u", "so be it", "u")...),
				"it is what it is, said the model")
		}
		history := words("same", n)
		for k := range 4 {
			history = append(history, fmt.Sprint("question", k))
			c.call("", talk(append(history[:len(history):len(history)], "ok", "note")...),
				"it is what it is, said the model")
			history = append(history, "it is what it is, said the model")
			if most := 24 * (len(history) + alignWork); c.work > most {
				t.Errorf("%d messages, call %d: %d steps, at most %d expected", n, k, c.work, most)
			}
		}
	}
}
