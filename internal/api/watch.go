package api

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/fnv"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
)

// lookEvery is how often a stream looks for what no event reports: changes of the history by
// other processes, and calls that run. lookWait limits one look.
const (
	lookEvery = time.Second
	lookWait  = 2 * time.Second
)

// watch is what a stream has reported of the history and of running calls.
type watch struct {
	changed int64  // of Store.Changed
	history uint64 // a hash of the stream's conversations and their revisions
	running uint64 // a hash of the ids of running calls
}

// watch begins to watch. Calls that run already are reported at the first look.
func (s *stream) watch() *watch {
	w := &watch{}
	w.moved(s)
	return w
}

// report sends what has changed since the last look.
func (w *watch) report(s *stream) {
	if w.moved(s) {
		s.send("history", 0, []byte(`{}`))
	}
	calls := s.request.running(s.Now())
	if s.conversation != "" {
		calls = of(calls, s.conversation)
	}
	if ids := hashOf(calls); ids != w.running {
		w.running = ids
		data, _ := json.Marshal(struct {
			Running []runningCall `json:"running"`
		}{calls})
		s.send("running", 0, data)
	}
}

// moved reports whether another process has changed the conversations of a stream, or
// somebody has deleted one. A history that cannot be read is looked at again.
func (w *watch) moved(s *stream) bool {
	ctx, cancel := context.WithTimeout(s.Context(), lookWait)
	defer cancel()
	changed, err := s.Store.Changed(ctx)
	if err != nil || changed == w.changed && w.history != 0 {
		return false
	}
	changed, history, err := s.history(ctx, changed)
	if err != nil {
		return false
	}
	before := w.history
	w.changed, w.history = changed, history
	return before != 0 && history != before
}

// history returns a hash, not 0, of the conversations that a stream is about, and the value of
// Store.Changed at which it was current.
func (s *stream) history(ctx context.Context, changed int64) (int64, uint64, error) {
	if s.conversation == "" {
		return s.follows.of(s.tenant).hash(ctx, s.Store, s.tenant, changed)
	}
	c, err := s.Store.Conversation(ctx, s.tenant, s.conversation)
	if errors.Is(err, timeline.ErrNoConversation) {
		return changed, 1, nil
	}
	return changed, hashConversations(c), err
}

// histories are what the streams of a tenant share, so that a change costs one list of its
// conversations, however many streams follow it.
type histories struct {
	mu sync.Mutex // protects by
	by map[string]*history
}

func (h *histories) of(tenant string) *history {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = map[string]*history{}
	}
	if h.by[tenant] == nil {
		h.by[tenant] = &history{}
	}
	return h.by[tenant]
}

// history is the hash of a tenant's conversations when they were last listed.
type history struct {
	mu      sync.Mutex // protects what follows, and is held during the list
	changed int64
	listed  time.Time
	known   uint64
}

// hash returns the hash and the value of Store.Changed at which it was current. It lists the
// conversations again if they have changed since, but not twice within half of lookEvery.
func (h *history) hash(ctx context.Context, store timeline.Store, tenant string, changed int64) (int64, uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known != 0 && (h.changed == changed || time.Since(h.listed) < lookEvery/2) {
		return h.changed, h.known, nil
	}
	all, err := store.Conversations(ctx, tenant)
	if err != nil {
		return 0, 0, err
	}
	h.changed, h.listed, h.known = changed, time.Now(), hashConversations(all...)
	return h.changed, h.known, nil
}

// hashConversations returns a hash, not 0, of conversations and their revisions.
func hashConversations(all ...timeline.Conversation) uint64 {
	h := fnv.New64a()
	var number [8]byte
	for i := range all {
		h.Write([]byte(all[i].Name))
		for _, n := range []int64{all[i].Created.UnixMicro(), all[i].Revision} {
			binary.LittleEndian.PutUint64(number[:], uint64(n))
			h.Write(number[:])
		}
	}
	return max(h.Sum64(), 1)
}

// runningCall is a call that has not ended.
type runningCall struct {
	ID string `json:"id"`
	// Empty while it is not known.
	Conversation string `json:"conversation"`
	// Empty for a conversation without a recorded call.
	Title string `json:"title"`
	Model string `json:"model"`
	// Time is when it began.
	Time time.Time `json:"time"`
	// How long it has run.
	MS float64 `json:"ms"`
	// Tokens of the request; 0 if they are not counted yet.
	TokensBefore int `json:"tokens_before"`
	// Tokens that were sent of it.
	TokensAfter int `json:"tokens_after"`
}

// maxRunning is how many running calls are shown.
const maxRunning = 20

// running returns the tenant's newest calls that have not ended.
func (q *request) running(now time.Time) []runningCall {
	out := []runningCall{}
	if q.Engine == nil {
		return out
	}
	for _, c := range call.Of(q.Engine).Running(q.tenant) {
		if len(out) == maxRunning {
			break
		}
		ms := float64(now.Sub(c.Began).Microseconds()) / 1000
		out = append(out, runningCall{ID: c.ID, Conversation: c.Conversation, Model: c.Model, Time: c.Began.UTC(),
			MS: max(0, ms), TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter})
	}
	return out
}

// nameRunning gives running calls the titles of conversations that have one.
func (q *request) nameRunning(ctx context.Context, calls []runningCall) {
	for i := range calls {
		c, err := q.Store.Conversation(ctx, q.tenant, calls[i].Conversation)
		if err == nil {
			calls[i].Title, _ = q.title(&c)
		}
	}
}

// of returns the calls of one conversation.
func of(calls []runningCall, conversation string) []runningCall {
	out := []runningCall{}
	for _, c := range calls {
		if c.Conversation == conversation {
			out = append(out, c)
		}
	}
	return out
}

// hashOf returns a hash of the ids of calls; 0 for none.
func hashOf(calls []runningCall) uint64 {
	if len(calls) == 0 {
		return 0
	}
	h := fnv.New64a()
	for i := range calls {
		h.Write([]byte(calls[i].ID + "\x00"))
	}
	return max(h.Sum64(), 1)
}
