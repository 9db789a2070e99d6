package attack

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// noted is a provider that gives the same answer to everything.
func noted() http.Handler {
	return &fakemodel.Server{Unchecked: true,
		Answer: func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "Noted."} }}
}

// chatTalk is a conversation in OpenAI's chat format whose client resends
// everything.
type chatTalk struct {
	messages []map[string]string
	header   []string
	reply    string // the provider's reply; default: that of noted
}

// say adds a user's message, sends everything, and adds the reply.
func (c *chatTalk) say(s *server, text string) (*answer, error) {
	c.messages = append(c.messages, map[string]string{"role": "user", "content": text})
	body, err := json.Marshal(map[string]any{"model": "gpt-4o", "messages": c.messages})
	if err != nil {
		return nil, err
	}
	a, err := s.post("/v1/chat/completions", string(body), c.header...)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", a.status, a.body)
	}
	c.messages = append(c.messages, map[string]string{"role": "assistant", "content": cmp.Or(c.reply, "Noted.")})
	return a, err
}

// stall sends a small compressed request with very many messages that could
// belong to hundreds of branches, and one with the most messages that are
// looked for, while other clients make calls.
func stall(t *trial) error {
	s, err := t.serve(serveOptions{upstream: t.upstream(noted())})
	if err != nil {
		return err
	}
	for k := range 32 {
		for b := range 8 {
			c := &chatTalk{header: []string{"X-Oriel-Conversation", "crowd"}}
			for _, text := range []string{fmt.Sprint("talk ", k), fmt.Sprint("branch ", b), "a"} {
				if _, err := c.say(s, text); err != nil {
					return setup("fill a session", err)
				}
			}
		}
	}
	before, err := s.others(3 * time.Second)
	if err != nil {
		return err
	}
	t.say("without the attack: %d calls of others, p95 %v", len(before), p95(before))
	for _, messages := range []int{410_000, 65_000} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		fmt.Fprintf(z, `{"model":"gpt-4o","messages":[%s{"role":"user","content":"a"}]}`,
			strings.Repeat(`{"role":"user","content":"a"},{"role":"assistant","content":"b"},`, messages/2))
		if err := z.Close(); err != nil {
			return err
		}
		size := packed.Len()
		attacked := make(chan error, 1)
		go func() {
			_, err := s.post("/v1/chat/completions", packed.String(), "Content-Encoding", "gzip",
				"X-Oriel-Conversation", "crowd")
			attacked <- err
		}()
		during, err := s.others(6 * time.Second)
		if err != nil {
			return err
		}
		if err := <-attacked; err != nil {
			return err
		}
		t.say("with %d bytes of %d messages: %d calls of others, p95 %v", size, messages, len(during), p95(during))
		if p95(during) > max(2*p95(before), 20*time.Millisecond) {
			return fmt.Errorf("one request of %d bytes takes the p95 of others from %v to %v", size, p95(before),
				p95(during))
		}
	}
	return s.alive()
}

// others has four clients make calls for a while, and returns how long the
// calls took. A call that is not recorded is an error.
func (s *server) others(d time.Duration) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for client := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := &chatTalk{}
			for n := 0; time.Now().Before(end); n++ {
				if n%20 == 0 {
					c = &chatTalk{}
				}
				began := time.Now()
				a, err := c.say(s, fmt.Sprintf("client %d says %d at %d", client, n, began.UnixNano()))
				took := time.Since(began)
				if err == nil && a.header.Get("X-Oriel-Action") != "none" {
					err = fmt.Errorf("a call of another client was treated as %q", a.header.Get("X-Oriel-Action"))
				}
				mu.Lock()
				all, failed = append(all, took), err
				mu.Unlock()
				if err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
	wg.Wait()
	return all, failed
}

// p95 returns the 95th percentile.
func p95(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*95/100].Round(100 * time.Microsecond)
}

// resumed is how many conversations continue after a restart.
const resumed = 100

// lastBodies is a provider that keeps the last body of each of some
// conversations.
type lastBodies struct {
	mu   sync.Mutex
	last [resumed][]byte
}

var ofTalk = regexp.MustCompile(`of talk (\d+):`)

func (l *lastBodies) answer(r *fakemodel.Request) fakemodel.Answer {
	if all := ofTalk.FindAllSubmatch(r.Data(), -1); all != nil {
		i, _ := strconv.Atoi(string(all[len(all)-1][1]))
		l.mu.Lock()
		l.last[i%resumed] = bytes.Clone(r.Data())
		l.mu.Unlock()
	}
	return fakemodel.Answer{Text: longReply}
}

// longReply is what gets cut: users' messages stay if possible.
var longReply = strings.Repeat("and so it goes on and on with many words of no meaning. ", 8)

func (l *lastBodies) of(i int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[i]
}

// resume fills a folder with conversations, restarts the server, and continues
// a hundred that had been cut, on a busy machine.
func resume(t *trial) error {
	size := t.size(5000)
	var bodies lastBodies
	up := t.upstream(&fakemodel.Server{Unchecked: true, Answer: bodies.answer})
	s, err := t.serve(serveOptions{upstream: up})
	if err != nil {
		return err
	}
	var talks [resumed]*chatTalk
	var names [resumed]string
	say := func(s *server, i int) (*answer, error) {
		return talks[i].say(s, fmt.Sprintf("thing %d of talk %d:", len(talks[i].messages), i))
	}
	err = parallel(resumed, func(i int) error {
		talks[i] = &chatTalk{reply: longReply, header: []string{"X-Oriel-Budget", "2500"}}
		if i%2 == 0 {
			talks[i].header = append(talks[i].header, "X-Oriel-Conversation", fmt.Sprint("resumed-", i))
		}
		for range 60 {
			a, err := say(s, i)
			if err != nil {
				return err
			}
			if names[i] = a.header.Get("X-Oriel-Conversation"); a.header.Get("X-Oriel-Tokens-After") != a.header.Get(
				"X-Oriel-Tokens-Before") {
				return nil
			}
		}
		return fmt.Errorf("talk %d was never cut", i)
	})
	if err != nil {
		return setup("talk", err)
	}
	err = parallel(size, func(i int) error {
		_, err := (&chatTalk{reply: longReply}).say(s, fmt.Sprintf("question %d", i))
		return err
	})
	if err != nil {
		return setup("fill the folder", err)
	}
	if !s.stop(2 * time.Minute) {
		return setup("stop the server", errors.New("it does not end"))
	}
	if s, err = t.serve(serveOptions{upstream: up}); err != nil {
		return err
	}
	busy, stop := context.WithCancel(context.Background())
	defer stop()
	for range 4 { // they only keep the machine busy
		go func() {
			for busy.Err() == nil {
			}
		}()
	}
	var lost, cut atomic.Int64
	err = parallel(resumed, func(i int) error {
		before := bodies.of(i)
		before = before[:bytes.LastIndex(before, []byte("}]"))]
		a, err := say(s, i)
		switch {
		case err != nil:
		case a.header.Get("X-Oriel-Conversation") != names[i]:
			lost.Add(1)
		case !bytes.HasPrefix(bodies.of(i), before):
			cut.Add(1)
		}
		return err
	})
	if err != nil {
		return err
	}
	t.say("%d conversations, %d resumed after a restart on a busy machine: %d lost, %d cut anew", size+resumed, resumed,
		lost.Load(), cut.Load())
	if n := lost.Load() + cut.Load(); n > 0 {
		return fmt.Errorf("%d of %d resumed conversations are lost or cut anew", n, resumed)
	}
	return nil
}

// twins has two servers on one folder take calls of many conversations, some
// with the same first message, and counts what is recorded.
func twins(t *trial) error {
	size := t.size(4000)
	up := t.upstream(noted())
	var servers [2]*server
	for i := range servers {
		var err error
		if servers[i], err = t.serve(serveOptions{upstream: up}); err != nil {
			return err
		}
	}
	const turns = 10
	var made atomic.Int64
	err := parallel(size/turns, func(i int) error {
		c := &chatTalk{}
		if i%3 == 0 {
			c.header = []string{"X-Oriel-Conversation", fmt.Sprint("twin-", i)}
		}
		for n := range turns {
			text := fmt.Sprintf("thing %d of talk %d", n, i)
			if n == 0 && i%2 == 0 {
				text = "hello"
			}
			if _, err := c.say(servers[(i+n/4)%2], text); err != nil {
				return err
			}
			made.Add(1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range servers {
		if !s.stop(2 * time.Minute) {
			return errors.New("a server does not end")
		}
	}
	recorded, err := countCalls(servers[0].data, timeline.Local)
	if err != nil {
		return err
	}
	t.say("%d calls to two servers, %d recorded", made.Load(), recorded)
	if lost := made.Load() - int64(recorded); lost != 0 {
		return fmt.Errorf("%d of %d calls are not recorded", lost, made.Load())
	}
	return nil
}

// countCalls counts the calls of a tenant that a data folder has.
func countCalls(dir, tenant string) (n int, err error) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Clean(dir), sqlite.Options{})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	all, err := store.Conversations(ctx, tenant)
	if err != nil {
		return 0, err
	}
	for _, c := range all {
		records, err := store.Records(ctx, tenant, c.Name, "call", "")
		if err != nil {
			return 0, err
		}
		n += len(records)
	}
	return n, nil
}

// parallel runs n tasks, eight at a time, until one fails.
func parallel(n int, do func(i int) error) error {
	var next atomic.Int64
	failed := make(chan error, 8)
	for range 8 {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					failed <- nil
					return
				}
				if err := do(i); err != nil {
					next.Store(int64(n))
					failed <- err
					return
				}
			}
		}()
	}
	var err error
	for range 8 {
		if e := <-failed; e != nil {
			err = e
		}
	}
	return err
}
