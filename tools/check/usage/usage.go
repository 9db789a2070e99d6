// Package usage sends recorded agent sessions through oriel serve to a provider of its
// own, adds up what that provider reported with arithmetic of its own, and compares the
// sums with oriel usage --json.
//
//	./scripts/check usage [--oriel PATH] [-profile thrifty] [-condense inline] [-data DIR] PATH…
//
// With -condense, a model of its own writes summaries, and their costs are compared, too.
// The provider counts four bytes as a token and caches the longest prefix that it was sent
// before; a second account has what the recorded bodies would have used. The prices are those that
// oriel models --json prints.
package usage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/tools/transcript"
)

// Check sends the sessions of the paths.
func Check(args []string) error {
	flags := kit.Flags("usage")
	program := flags.String("oriel", "", "the program; default: built from the source")
	profile := flags.String("profile", "thrifty", "profile of the server")
	data := flags.String("data", "", "folder of the history; default: one that is removed")
	condense := flags.String("condense", "", "when summaries are written: inline or behind; default: by no model")
	most := flags.Int("most", 400, "calls of each session at most")
	paths := kit.Parse(flags, args)
	dir, err := os.MkdirTemp("", "check-usage")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &check{oriel: *program, data: *data, most: *most, prices: kit.PriceList{}, provider: provider{cache: cache{}},
		alone: cache{}}
	if c.data == "" {
		c.data = filepath.Join(dir, "data")
	}
	if c.oriel == "" {
		if c.oriel, err = kit.BuildOriel(dir); err != nil {
			return err
		}
	}
	up := httptest.NewServer(&c.provider)
	defer up.Close()
	writer := httptest.NewServer(http.HandlerFunc(c.summary))
	defer writer.Close()
	serve := []string{"--data", c.data, "--profile", *profile, "--upstream-anthropic", up.URL}
	if *condense != "" {
		serve = append(serve, "--condense", *condense, "--condense-url", writer.URL+"/v1", "--condense-model",
			summaryModel)
	}
	base, stop, err := kit.Serve(c.oriel, serve...)
	if err != nil {
		return err
	}
	err = kit.Sessions(paths, func(s *transcript.Session) error { return c.session(base, s) })
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	bad, err := c.compare()
	if err != nil {
		return err
	}
	return kit.Failed(bad)
}

// check is one check.
type check struct {
	oriel, data string
	most        int
	provider    provider
	alone       cache // of the bodies as they came
	calls       []call
	prices      kit.PriceList

	mu        sync.Mutex // protects summaries
	summaries []kit.Used
}

// summaryModel writes the summaries.
const summaryModel = "gpt-4o-mini"

// summary writes a summary that is long enough to be accepted, and notes what it used.
func (c *check) summary(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u := kit.Used{Fresh: len(body) / 4, Output: 40}
	c.mu.Lock()
	c.summaries = append(c.summaries, u)
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"s","object":"chat.completion","model":%q,"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"The agent read files, edited some of them, and ran tests; all that it found is in the files that it names."}}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`,
		summaryModel, u.Fresh, u.Output, u.Fresh+u.Output)
}

// call is what a client and a provider know about a call.
type call struct {
	conversation, model string
	used, alone         kit.Used
}

// provider answers with what the recording has, and reports usage.
type provider struct {
	reply []byte
	cache cache
	used  kit.Used
}

// cache has what was sent last for each model.
type cache map[string][]byte

// use returns what a body uses.
func (c cache) use(model string, body, reply []byte) kit.Used {
	same, last := 0, c[model]
	for same < min(len(body), len(last)) && body[same] == last[same] {
		same++
	}
	c[model] = body
	return kit.Used{Fresh: len(body) % 4, Read: same / 4, Write: len(body)/4 - same/4, Output: len(reply)/4 + 1}
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var top struct{ Model string }
	var m struct{ Content json.RawMessage }
	if json.Unmarshal(body, &top) != nil || json.Unmarshal(p.reply, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.used = p.cache.use(top.Model, body, p.reply)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"msg","type":"message","role":"assistant","model":"m","content":%s,"stop_reason":"end_turn","usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d}}`,
		m.Content, p.used.Fresh, p.used.Read, p.used.Write, p.used.Output)
}

// session sends the calls of a session that have a reply.
func (c *check) session(base string, s *transcript.Session) error {
	if s.Format != transcript.Anthropic {
		return nil
	}
	n := 0
	for r := range s.Requests() {
		if r.Reply == nil {
			continue
		}
		if n++; n > c.most {
			break
		}
		c.provider.reply = r.Reply
		res, err := http.Post(base+"/v1/messages", "application/json", bytes.NewReader(r.Body))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("call %d: %s, %v", n, res.Status, err)
		}
		var top struct{ Model string }
		if err := json.Unmarshal(r.Body, &top); err != nil {
			return err
		}
		c.calls = append(c.calls, call{res.Header.Get("X-Oriel-Conversation"), top.Model, c.provider.used,
			c.alone.use(top.Model, r.Body, r.Reply)})
	}
	return nil
}

// sums are the figures of one row of oriel usage.
type sums struct {
	Key        string
	Calls      int
	Input      int
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Output     int
	Cost       float64
	Without    float64
	Summaries  float64
	Unknown    []string `json:"unknown_models"`
}

// compare compares all groupings that a client can know.
func (c *check) compare() (bad int, err error) {
	for _, by := range []string{"conversation", "model", "month"} {
		want, err := c.sum(by)
		if err != nil {
			return 0, err
		}
		out, err := exec.Command(c.oriel, "usage", "--by", by, "--json", "--data", c.data).Output()
		if err != nil {
			return 0, fmt.Errorf("oriel usage: %w", err)
		}
		got := map[string]sums{}
		for line := range bytes.Lines(out) {
			var s sums
			if err := json.Unmarshal(line, &s); err != nil {
				return 0, err
			}
			if by == "month" { // of now, perhaps of two
				was := got[""]
				s = sums{"", was.Calls + s.Calls, was.Input + s.Input, was.CacheRead + s.CacheRead,
					was.CacheWrite + s.CacheWrite, was.Output + s.Output, was.Cost + s.Cost, was.Without + s.Without,
					was.Summaries + s.Summaries, append(was.Unknown, s.Unknown...)}
			}
			got[s.Key] = s
		}
		var total sums
		for _, g := range got {
			total.Summaries += g.Summaries
		}
		summaries, err := c.paid()
		if err != nil {
			return 0, err
		}
		if math.Abs(total.Summaries-summaries) > 1e-4 {
			bad++
			fmt.Printf("by %s: summaries cost $%.6f, oriel usage $%.6f\n", by, summaries, total.Summaries)
		}
		for key, w := range want {
			total.Calls, total.Cost, total.Without = total.Calls+w.Calls, total.Cost+w.Cost, total.Without+w.Without
			if g := got[key]; !same(&g, w) {
				bad++
				fmt.Printf("by %s, %q:\n  own sum     %+v\n  oriel usage %+v\n", by, key, *w, g)
			}
		}
		if len(got) != len(want) {
			bad++
			fmt.Printf("by %s: %d rows, want %d\n", by, len(got), len(want))
		}
		fmt.Printf("by %-12s %3d rows, %d calls, cost $%.4f, without $%.4f, %d summaries $%.4f\n", by, len(want),
			total.Calls, total.Cost, total.Without, len(c.summaries), total.Summaries)
	}
	if bad == 0 {
		fmt.Println("the sums are equal, money to a hundredth of a cent; the estimates without Oriel are off by at most 5%")
	}
	return bad, nil
}

// paid adds up what the summaries cost.
func (c *check) paid() (sum float64, err error) {
	p, err := c.prices.Of(c.oriel, summaryModel)
	for _, u := range c.summaries {
		sum += p.Cost(u)
	}
	return sum, err
}

// mostOff is how far the estimate of the cost without Oriel may be off.
const mostOff = .05

func same(a, b *sums) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-4 }
	slices.Sort(a.Unknown)
	slices.Sort(b.Unknown)
	return a.Calls == b.Calls && a.Input == b.Input && a.CacheRead == b.CacheRead && a.CacheWrite == b.CacheWrite &&
		a.Output == b.Output &&
		near(a.Cost, b.Cost) && math.Abs(a.Without-b.Without) <= mostOff*b.Without &&
		slices.Equal(slices.Compact(a.Unknown), slices.Compact(b.Unknown))
}

// sum adds up the calls, and what they would have cost had everything been sent, by the
// second account.
func (c *check) sum(by string) (map[string]*sums, error) {
	out := map[string]*sums{}
	for _, k := range c.calls {
		key := map[string]string{"conversation": k.conversation, "model": k.model}[by]
		s := out[key]
		if s == nil {
			s = &sums{Key: key}
			out[key] = s
		}
		s.Calls++
		s.Input += k.used.Prompt()
		s.CacheRead += k.used.Read
		s.CacheWrite += k.used.Write
		s.Output += k.used.Output
		p, err := c.prices.Of(c.oriel, k.model)
		if err != nil {
			return nil, err
		}
		if !p.Known {
			s.Unknown = append(s.Unknown, k.model)
			continue
		}
		s.Cost += p.Cost(k.used)
		s.Without += p.Cost(k.alone)
	}
	return out, nil
}
