package misses

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// provider is the cache of a provider, written without a look at what judges it: the texts of
// prompts, by when they were last used.
type provider struct {
	mu      sync.Mutex // protects what follows
	now     time.Time
	prompts []*kept
	made    int
	said    string // the next diagnosis
}

// kept is the beginning of a prompt in the cache, at the end of a message.
type kept struct {
	model, text string
	used        time.Time
	lifetime    time.Duration
}

// pieces returns a body as a cache reads it, the model apart, and after which pieces it is marked.
func pieces(data []byte) (model string, out []string, marked map[int]time.Duration) {
	var body struct {
		Model, Instructions            string
		Tools, Messages, System, Input json.RawMessage
	}
	if err := json.Unmarshal(data, &body); err != nil {
		panic(err)
	}
	marked = map[int]time.Duration{}
	take := func(raw json.RawMessage) {
		if len(raw) == 0 {
			return
		}
		if i := bytes.Index(raw, []byte(`"cache_control":{`)); i >= 0 {
			marked[len(out)] = 5 * time.Minute
			if bytes.Contains(raw[i:], []byte(`"ttl":"1h"`)) {
				marked[len(out)] = time.Hour
			}
		}
		bare := string(raw)
		for _, m := range []string{`,"cache_control":{"type":"ephemeral"}`,
			`,"cache_control":{"type":"ephemeral","ttl":"1h"}`} {
			bare = strings.ReplaceAll(bare, m, "")
		}
		if _, text, ok := strings.Cut(bare, `[{"type":"text","text":`); ok && strings.HasSuffix(text, `}]}`) &&
			strings.Count(bare, `"type":"text"`) == 1 { // the two forms of a text are one to a model
			bare = strings.Replace(bare, `[{"type":"text","text":`, "", 1)
			bare = strings.TrimSuffix(bare, `}]}`) + "}"
		}
		out = append(out, bare)
	}
	each := func(list json.RawMessage) {
		var all []json.RawMessage
		if json.Unmarshal(list, &all) != nil {
			take(list)
		}
		for _, raw := range all {
			take(raw)
		}
	}
	each(body.Tools)
	if body.Instructions != "" {
		take([]byte(body.Instructions))
	}
	each(body.System)
	each(body.Messages)
	each(body.Input)
	return body.Model, out, marked
}

// perToken is how many bytes this provider counts as a token.
const perToken = 4

// answer answers a request, and reports what was read from the cache.
func (p *provider) answer(r *fakemodel.Request) fakemodel.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	model, all, marked := pieces(r.Data())
	explicit, least, step := strings.HasPrefix(model, "claude"), 1024, 1
	lifetime := 5 * time.Minute
	if !explicit {
		step, lifetime = 128, time.Hour
	}
	text, read, ends, last := "", 0, []string{}, 0
	for i, piece := range all {
		text += piece
		ends = append(ends, text)
		if _, ok := marked[i]; ok || !explicit {
			last = i + 1
		}
	}
	size := func(s string) int { return len(s) / perToken / step * step }
	for _, end := range ends[:last] {
		for _, k := range p.prompts {
			if k.model == model && k.text == end && p.now.Sub(k.used) < k.lifetime && size(end) >= least {
				read, k.used = max(read, size(end)), p.now
			}
		}
	}
	for _, k := range marked {
		lifetime = max(lifetime, k)
	}
	written := 0
	for _, end := range ends[:last] {
		if size(end) >= least {
			p.prompts = append(p.prompts, &kept{model, end, p.now, lifetime})
			written = size(end) - read
		}
	}
	p.made++
	a := fakemodel.Answer{ID: "msg_" + strings.Repeat("x", p.made), Text: "Done. " + string(rune('A'+p.made%26)),
		CacheRead: read, Output: 9}
	if !explicit {
		written = 0
	}
	a.Diagnosis, p.said = p.said, ""
	a.CacheWrite, a.Input = max(0, written), len(text)/perToken-read-max(0, written)
	return a
}

// forget empties the cache, as a provider does that is short of memory.
func (p *provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prompts = nil
}

// pass lets time pass.
func (p *provider) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

func (p *provider) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}
