// Package usage sends recorded agent sessions through oriel serve to a provider of its
// own, adds up what that provider reported with arithmetic of its own, and compares the
// sums with oriel usage --json and with the response headers.
//
//	./scripts/check usage [--oriel PATH] [-profile thrifty] [-condense inline] [-data DIR] PATH…
//
// With -condense, a model of its own writes summaries, and their costs are compared, too.
// The provider counts four bytes as a token and caches the longest prefix that it was sent
// before. The prices are those that oriel models --json prints.
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
	"strconv"
	"sync"

	"github.com/oriel-context/oriel/internal/check/kit"
	"github.com/oriel-context/oriel/internal/transcript"
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
	c := &check{oriel: *program, data: *data, most: *most, prices: map[string]prices{}}
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
		serve = append(serve, "--condense", *condense, "--condense-url", writer.URL+"/v1", "--condense-model", summaryModel)
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
	calls       []call
	prices      map[string]prices

	mu        sync.Mutex // protects summaries
	summaries []used
}

// summaryModel writes the summaries.
const summaryModel = "gpt-4o-mini"

// summary writes a summary that is long enough to be accepted, and notes what it used.
func (c *check) summary(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u := used{fresh: len(body) / 4, output: 40}
	c.mu.Lock()
	c.summaries = append(c.summaries, u)
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"s","object":"chat.completion","model":%q,"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"The agent read files, edited some of them, and ran tests; all that it found is in the files that it names."}}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`,
		summaryModel, u.fresh, u.output, u.fresh+u.output)
}

// call is what a client and a provider know about a call.
type call struct {
	conversation, model string
	before, after       int // tokens, according to the response headers
	used                used
}

// used are tokens as the provider reports them.
type used struct{ fresh, read, write, output int }

// provider answers with what the recording has, and reports usage.
type provider struct {
	reply []byte
	last  map[string][]byte // model → what it was sent last
	used  used
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var top struct{ Model string }
	var m struct{ Content json.RawMessage }
	if json.Unmarshal(body, &top) != nil || json.Unmarshal(p.reply, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if p.last == nil {
		p.last = map[string][]byte{}
	}
	same, last := 0, p.last[top.Model]
	for same < min(len(body), len(last)) && body[same] == last[same] {
		same++
	}
	p.last[top.Model] = body
	p.used = used{fresh: len(body) % 4, read: same / 4, write: len(body)/4 - same/4, output: len(p.reply)/4 + 1}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"msg","type":"message","role":"assistant","model":"m","content":%s,"stop_reason":"end_turn","usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d}}`,
		m.Content, p.used.fresh, p.used.read, p.used.write, p.used.output)
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
		before, err1 := strconv.Atoi(res.Header.Get("X-Oriel-Tokens-Before"))
		after, err2 := strconv.Atoi(res.Header.Get("X-Oriel-Tokens-After"))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		c.calls = append(c.calls, call{res.Header.Get("X-Oriel-Conversation"), top.Model, before, after, c.provider.used})
	}
	return nil
}

// prices are US dollars per million tokens; known is false if there are none.
type prices struct {
	known                      bool
	input, output, read, write float64
	over                       int // tokens of the prompt above which long holds
	long                       *prices
}

func (p prices) cost(u used) float64 {
	if p.long != nil && u.fresh+u.read+u.write > p.over {
		p = *p.long
	}
	return (float64(u.fresh)*p.input + float64(u.read)*p.read + float64(u.write)*p.write + float64(u.output)*p.output) / 1e6
}

// pricesOf asks the program.
func (c *check) pricesOf(model string) (prices, error) {
	if p, ok := c.prices[model]; ok {
		return p, nil
	}
	type rates struct {
		Over       int
		Input      float64
		Output     float64
		CacheRead  float64 `json:"cache_read"`
		CacheWrite float64 `json:"cache_write"`
	}
	var list struct {
		Models []struct {
			Prices struct {
				rates
				Tiers []rates
			}
		}
	}
	var p prices
	if out, err := exec.Command(c.oriel, "models", model, "--json").Output(); err == nil { // else it is unknown
		if err := json.Unmarshal(out, &list); err != nil {
			return p, err
		}
	}
	of := func(r rates) prices {
		or := func(x float64) float64 {
			if x == 0 {
				return r.Input
			}
			return x
		}
		return prices{known: r.Input > 0, input: r.Input, output: r.Output, read: or(r.CacheRead), write: or(r.CacheWrite)}
	}
	if len(list.Models) == 1 {
		m := list.Models[0].Prices
		p = of(m.rates)
		if len(m.Tiers) > 1 {
			return p, fmt.Errorf("%s has %d tiers of prices: this check knows one", model, len(m.Tiers))
		}
		for _, t := range m.Tiers {
			long := of(t)
			p.over, p.long = t.Over, &long
		}
	}
	c.prices[model] = p
	return p, nil
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
				s = sums{"", was.Calls + s.Calls, was.Input + s.Input, was.CacheRead + s.CacheRead, was.CacheWrite + s.CacheWrite, was.Output + s.Output, was.Cost + s.Cost, was.Without + s.Without, was.Summaries + s.Summaries, append(was.Unknown, s.Unknown...)}
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
		fmt.Printf("by %-12s %3d rows, %d calls, cost $%.4f, without $%.4f, %d summaries $%.4f\n", by, len(want), total.Calls, total.Cost, total.Without, len(c.summaries), total.Summaries)
	}
	if bad == 0 {
		fmt.Println("the sums are equal, money to a hundredth of a cent")
	}
	return bad, nil
}

// paid adds up what the summaries cost.
func (c *check) paid() (sum float64, err error) {
	p, err := c.pricesOf(summaryModel)
	for _, u := range c.summaries {
		sum += p.cost(u)
	}
	return sum, err
}

func same(a, b *sums) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-4 }
	slices.Sort(a.Unknown)
	slices.Sort(b.Unknown)
	return a.Calls == b.Calls && a.Input == b.Input && a.CacheRead == b.CacheRead && a.CacheWrite == b.CacheWrite && a.Output == b.Output &&
		near(a.Cost, b.Cost) && near(a.Without, b.Without) && slices.Equal(slices.Compact(a.Unknown), slices.Compact(b.Unknown))
}

// sum adds up the calls. Had everything been sent, a call whose conversation was ever cut
// would have read from the cache what the call before had, and written the rest.
func (c *check) sum(by string) (map[string]*sums, error) {
	out := map[string]*sums{}
	type line struct{ conversation, model string }
	had, cut := map[line]int{}, map[line]bool{}
	for _, k := range c.calls {
		key := map[string]string{"conversation": k.conversation, "model": k.model}[by]
		s := out[key]
		if s == nil {
			s = &sums{Key: key}
			out[key] = s
		}
		at := line{k.conversation, k.model}
		prompt := k.used.fresh + k.used.read + k.used.write
		whole := k.used
		if cut[at] = cut[at] || k.before > k.after; cut[at] {
			prompt := prompt + max(0, k.before-k.after)
			read := min(had[at], prompt)
			whole = used{read: read, write: prompt - read, output: k.used.output}
			if k.used.write == 0 {
				whole.fresh, whole.write = whole.write, 0
			}
		}
		had[at] = whole.fresh + whole.read + whole.write
		s.Calls++
		s.Input += prompt
		s.CacheRead += k.used.read
		s.CacheWrite += k.used.write
		s.Output += k.used.output
		p, err := c.pricesOf(k.model)
		if err != nil {
			return nil, err
		}
		if !p.known {
			s.Unknown = append(s.Unknown, k.model)
			continue
		}
		s.Cost += p.cost(k.used)
		s.Without += p.cost(whole)
	}
	return out, nil
}
