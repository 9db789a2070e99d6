package usage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
)

const opus = "claude-opus-4-1" // 15, 75, reading 1.5, writing 18.75 dollars for a million

// history is a store with calls.
type history struct {
	t     *testing.T
	store timeline.Store
	n     int
}

// call records a call; fields are those of docs/reference/format/calls.md.
func (h *history) call(conversation, project, began, fields string) {
	h.t.Helper()
	h.n++
	h.put(conversation, project, timeline.Record{Kind: "call", Key: fmt.Sprint(h.n),
		Data: fmt.Appendf(nil, `{"v":1,"began":%q,%s}`, began, fields)}, began)
}

func (h *history) put(conversation, project string, r timeline.Record, now string) {
	h.t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Time = at
	if _, err := h.store.Apply(context.Background(), timeline.Local,
		timeline.Change{Conversation: conversation, Project: project, Stay: true, Put: []timeline.Record{r},
			Now: at}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) read(o usage.Options) *usage.Report {
	h.t.Helper()
	r, err := usage.Read(context.Background(), h.store, timeline.Local, o)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func begin(t *testing.T) *history {
	h := &history{t: t, store: memory.New()}
	h.call("a", "/src/shop", "2026-11-14T23:30:00Z", `"model":"`+opus+
		`","tokens":1000,"usage":{"input":0,"cache_write":1000,"output":10}`)
	h.call("a", "/src/shop", "2026-11-15T10:00:00Z", `"model":"`+opus+
		`","tokens":600,"came":2000,"plan":"p","usage":{"input":0,"cache_read":200,"cache_write":400,"output":10}`)
	h.call("a", "/src/shop", "2026-11-15T10:01:00Z", `"model":"`+opus+
		`","tokens":700,"came":2100,"plan":"p","usage":{"input":0,"cache_read":600,"cache_write_1h":100,"output":10}`)
	h.call("b", "", "2026-11-15T11:00:00Z", `"model":"my-own","tokens":50`)
	h.call("b", "", "2026-11-16T11:00:00Z", `"model":"gpt-4o","tokens":70,"error":"the provider failed: no such host"`)
	h.call("b", "", "2026-11-16T11:00:01Z",
		`"model":"gpt-4o","tokens":70,"error":"the client left: it has enough","usage":{"input":80,"output":5}`)
	h.put("b", "", timeline.Record{Kind: "call", Key: "import 1:2 abc", Data: []byte(`{}`)}, "2026-11-16T12:00:00Z")
	h.put("b", "", timeline.Record{Kind: "summary", Key: "p",
		Data: []byte(`{"text":"t","cost":0.25,"model":"gpt-4o"}`)}, "2026-11-16T12:00:00Z")
	return h
}

// Nobody reports what a call used whose client left early: its prompt is counted here.
func TestACallThatItsClientLeftIsCounted(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	h.call("a", "", "2026-11-16T11:00:01Z", `"model":"gpt-4o","tokens":70,"error":"the client left: context canceled"`)
	if r := h.read(usage.Options{}).Total; r.Failed != 0 || r.Unreported != 1 || r.Input != 70 || r.Cost == 0 {
		t.Errorf("%+v", r)
	}
}

// What a client rewrites is in no cache, with or without Oriel.
func TestWithoutIsWhatAClientThatRewritesItsHistoryPays(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	h.call("a", "", "2026-11-16T11:00:00Z",
		`"model":"gpt-4o","tokens":10000,"usage":{"input":10000},"repeats":{"came":0,"sent":0}`)
	h.call("a", "", "2026-11-16T11:00:10Z",
		`"model":"gpt-4o","tokens":8000,"came":20000,"usage":{"input":8000},"repeats":{"came":2000,"sent":2000}`)
	// It was sent as the client rewrote it: 1,920 tokens are in the cache.
	h.call("a", "", "2026-11-16T11:00:20Z",
		`"model":"gpt-4o","tokens":20000,"usage":{"input":18080,"cache_read":1920},"repeats":{"came":2000,"sent":2000}`)
	// Nothing is in the cache after an hour and a half.
	h.call("a", "", "2026-11-16T12:30:20Z",
		`"model":"gpt-4o","tokens":8000,"came":21000,"usage":{"input":8000},"repeats":{"came":20000,"sent":2000}`)
	p := token.Builtin().Lookup("gpt-4o").Prices
	want := p.Cost(token.Usage{Input: 10000}) + p.Cost(token.Usage{Input: 20000}) + p.Cost(token.Usage{Input: 18080,
		CacheRead: 1920}) + p.Cost(token.Usage{Input: 21000})
	if got := h.read(usage.Options{}).Total.Without; max(got-want, want-got) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
}

// A server that caches less than its vendor's rules say shows it: what it read of a prompt that
// was sent as it came would have been read without Oriel, too.
func TestWhatWasReadFromTheCacheWouldHaveBeen(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	h.call("a", "", "2026-11-16T11:00:00Z",
		`"model":"gpt-4o","tokens":10000,"usage":{"input":10000},"repeats":{"came":0,"sent":0}`)
	h.call("a", "", "2026-11-16T11:00:10Z",
		`"model":"gpt-4o","tokens":8000,"came":11000,"usage":{"input":1000,"cache_read":7000},"repeats":{"came":10000,"sent":7000}`)
	// The client empties its results from now on.
	h.call("a", "", "2026-11-16T11:00:20Z",
		`"model":"gpt-4o","tokens":4000,"usage":{"input":3300,"cache_read":700},"repeats":{"came":700,"sent":700}`)
	h.call("a", "", "2026-11-16T11:00:30Z",
		`"model":"gpt-4o","tokens":4000,"usage":{"input":3200,"cache_read":800},"repeats":{"came":760,"sent":800}`)
	p := token.Builtin().Lookup("gpt-4o").Prices
	want := p.Cost(token.Usage{Input: 10000}) + p.Cost(token.Usage{Input: 11000 - 9984,
		CacheRead: 9984}) + p.Cost(token.Usage{Input: 3300, CacheRead: 700}) +
		p.Cost(token.Usage{Input: 3240, CacheRead: 760})
	if got := h.read(usage.Options{}).Total.Without; max(got-want, want-got) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
}

// A server may report a usage of zero: it shows nothing of the cache.
func TestAUsageOfZeroShowsNothingOfTheCache(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	h.call("a", "", "2026-11-16T11:00:00Z",
		`"model":"gpt-4o","tokens":10000,"usage":{"input":10000},"repeats":{"came":0,"sent":0}`)
	h.call("a", "", "2026-11-16T11:00:10Z",
		`"model":"gpt-4o","tokens":12000,"usage":{"input":0},"repeats":{"came":10000,"sent":10000}`)
	h.call("a", "", "2026-11-16T11:00:20Z",
		`"model":"gpt-4o","tokens":6000,"came":14000,"usage":{"input":4592,"cache_read":1408},"repeats":{"came":12000,"sent":1500}`)
	p := token.Builtin().Lookup("gpt-4o").Prices
	want := p.Cost(token.Usage{Input: 10000}) + p.Cost(token.Usage{Input: 14000 - 11904, CacheRead: 11904})
	if got := h.read(usage.Options{}).Total.Without; !(max(got-want, want-got) < 1e-6) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Where no usage is reported, the cache is estimated from what consecutive prompts share.
func TestTheCacheIsEstimatedWhereNoUsageIsReported(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	h.call("a", "", "2026-11-16T11:00:00Z", `"model":"gpt-4o","tokens":10000,"repeats":{"came":0,"sent":0}`)
	h.call("a", "", "2026-11-16T11:00:10Z", `"model":"gpt-4o","tokens":12000,"repeats":{"came":10000,"sent":10000}`)
	h.call("a", "", "2026-11-16T11:00:20Z",
		`"model":"gpt-4o","tokens":6000,"came":14000,"repeats":{"came":12000,"sent":1500}`)
	h.call("a", "", "2026-11-16T11:00:30Z",
		`"model":"gpt-4o","tokens":6100,"came":14100,"repeats":{"came":14000,"sent":900}`)
	p := token.Builtin().Lookup("gpt-4o").Prices
	cost := p.Cost(token.Usage{Input: 10000}) + p.Cost(token.Usage{Input: 12000 - 9984,
		CacheRead: 9984}) + p.Cost(token.Usage{Input: 6000 - 1408, CacheRead: 1408}) + p.Cost(token.Usage{Input: 6100})
	without := p.Cost(token.Usage{Input: 10000}) + p.Cost(token.Usage{Input: 12000 - 9984,
		CacheRead: 9984}) + p.Cost(token.Usage{Input: 14000 - 11904,
		CacheRead: 11904}) + p.Cost(token.Usage{Input: 14100 - 13952, CacheRead: 13952})
	r := h.read(usage.Options{}).Total
	if max(r.Cost-cost, cost-r.Cost, r.Without-without, without-r.Without) > 1e-6 || r.Unreported != 4 ||
		r.CacheRead != 9984+1408 {
		t.Errorf("%+v, want %v and %v", r, cost, without)
	}
}

func TestCallsAreAddedUpByDay(t *testing.T) {
	h := begin(t)
	p := token.Builtin().Lookup(opus).Prices
	r := h.read(usage.Options{})
	want := []usage.Row{
		{Key: "2026-11-14", Calls: 1, Input: 1000, CacheWrite: 1000, Output: 10, UnknownModels: []string{},
			Cost:    p.Cost(token.Usage{CacheWrite: 1000, Output: 10}),
			Without: p.Cost(token.Usage{CacheWrite: 1000, Output: 10})},
		{Key: "2026-11-15", Calls: 3, Input: 600 + 700 + 50, CacheRead: 800, CacheWrite: 500, Output: 20, LeftOut: 2800,
			Unreported: 1, UnknownModels: []string{"my-own"},
			Cost: p.Cost(token.Usage{CacheRead: 200, CacheWrite: 400, Output: 10}) + p.Cost(token.Usage{CacheRead: 600,
				CacheWrite1h: 100, Output: 10}),
			// What the call before had is in the cache.
			Without: p.Cost(token.Usage{CacheRead: 1000, CacheWrite: 1000,
				Output: 10}) + p.Cost(token.Usage{CacheRead: 2000, CacheWrite1h: 100, Output: 10})},
		{Key: "2026-11-16", Calls: 2, Failed: 1, Input: 80, Output: 5, Summaries: .25, UnknownModels: []string{},
			Cost: 80*2.5/1e6 + 5*10/1e6, Without: 80*2.5/1e6 + 5*10/1e6},
	}
	same := cmp.Options{cmpopts.EquateApprox(0, 1e-6), cmpopts.IgnoreFields(usage.Row{}, "Last")}
	if diff := cmp.Diff(want, r.Rows, same); diff != "" {
		t.Error(diff)
	}
	if r.Total.Calls != 6 || r.Total.Input != 2430 || r.Total.Summaries != .25 || r.Oldest > r.Newest ||
		r.Oldest == "" {
		t.Errorf("%+v", r)
	}
	if want := time.Date(2026, 11, 16, 11, 0, 1, 0, time.UTC); !r.Total.Last.Equal(want) {
		t.Errorf("last %v", r.Total.Last)
	}
}

// All groupings have the same calls, under keys that people know.
func TestEveryGroupingHasEveryCall(t *testing.T) {
	h := begin(t)
	for by, keys := range map[usage.By]string{
		usage.Day: "2026-11-14 2026-11-15 2026-11-16", usage.Week: "2026-W46 2026-W47", usage.Month: "2026-11",
		usage.Model: opus + " gpt-4o my-own", usage.Project: "/src/shop ", usage.Conversation: "a b",
	} {
		r := h.read(usage.Options{By: by})
		var got []string
		calls, cost := 0, 0.0
		for _, row := range r.Rows {
			got = append(got, row.Key)
			calls += row.Calls
			cost += row.Cost
		}
		if strings.Join(got, " ") != keys || calls != r.Total.Calls ||
			max(cost-r.Total.Cost, r.Total.Cost-cost) > 1e-6 {
			t.Errorf("%s: %q, %d calls, %v of %v", by, got, calls, cost, r.Total.Cost)
		}
	}
	if _, err := usage.Read(context.Background(), h.store, timeline.Local, usage.Options{By: "minute"}); err == nil ||
		!strings.Contains(err.Error(), "conversation") {
		t.Error(err)
	}
}

// What would have been sent depends on the calls before, also on those that are left out.
func TestSinceLeavesOutCallsAndNotWhatTheyLeftBehind(t *testing.T) {
	h := begin(t)
	all, some := h.read(usage.Options{}), h.read(usage.Options{Since: time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)})
	if diff := cmp.Diff(all.Rows[1:], some.Rows); diff != "" {
		t.Error(diff)
	}
	if r := h.read(usage.Options{Conversation: "b"}); r.Total.Calls != 3 {
		t.Errorf("%+v", r.Total)
	}
	if r := h.read(usage.Options{Since: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}); len(r.Rows) != 0 ||
		r.Total.Calls != 0 {
		t.Errorf("%+v", r)
	}
}

func TestDaysAreThoseOfTheZone(t *testing.T) {
	h := begin(t)
	r := h.read(usage.Options{Zone: time.FixedZone("east", 3600)})
	if r.Rows[0].Key != "2026-11-15" || r.Rows[0].Calls != 4 {
		t.Errorf("%+v", r.Rows)
	}
}

// Programs of others read these names.
func TestTheNamesOfARow(t *testing.T) {
	got, err := json.Marshal(begin(t).read(usage.Options{By: usage.Month}).Rows[0])
	want := `{"key":"2026-11","calls":6,"failed":1,"input":2430,"cache_read":800,"cache_write":1500,"output":35,"left_out":2800,"unreported":1,` +
		`"cost":0.03295,"without":0.0475,"summaries":0.25,"unknown_models":["my-own"],"last":"2026-11-16T11:00:01Z"}`
	if err != nil || string(got) != want {
		t.Errorf("%s\n%s, %v", got, want, err)
	}
}

func TestADamagedCallIsNamed(t *testing.T) {
	h := begin(t)
	h.put("b", "", timeline.Record{Kind: "call", Key: "bad", Data: []byte(`{"v":7}`)}, "2026-11-16T12:00:00Z")
	if _, err := usage.Read(context.Background(), h.store, timeline.Local, usage.Options{}); err == nil ||
		!strings.Contains(err.Error(), `"b"`) || !strings.Contains(err.Error(), "bad") {
		t.Error(err)
	}
}

// A client that left has not failed, whichever door it left by.
// deletion deletes a conversation right after conversations are listed.
type deletion struct {
	timeline.Store
	name string
}

func (d deletion) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	all, err := d.Store.Conversations(ctx, tenant)
	d.Delete(ctx, tenant, d.name, nil)
	return all, err
}

// What is deleted while a report is read is not in it; the rest is.
func TestADeletedConversationFailsNothing(t *testing.T) {
	h := begin(t)
	want := h.read(usage.Options{By: usage.Conversation, Conversation: "a"})
	r, err := usage.Read(context.Background(), deletion{h.store, "b"}, timeline.Local,
		usage.Options{By: usage.Conversation})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s, err := usage.ReadStatus(context.Background(), deletion{begin(t).store, "b"}, timeline.Local,
		usage.StatusOptions{})
	if err != nil || s.Conversation != "a" {
		t.Errorf("%+v, %v", s, err)
	}
}

// plan records a plan of a call; view are members of its view.
func (h *history) plan(conversation, key string, cost float64, view string) {
	h.t.Helper()
	h.put(conversation, "", timeline.Record{Kind: timeline.KindPlan, Key: key,
		Data: fmt.Appendf(nil, `{"model":%q,"summary":{"text":"","cost":%v,"error":""},"view":{%s}}`, opus, cost,
			view)}, "2026-11-15T10:00:00Z")
}

// Each summary counts once: written while a call waited, or in the background and used by
// plans later. Plans that follow, and other conversations that have the plan, repeat its cost.
func TestSummariesCountOnce(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	for _, conversation := range []string{"inline", "background", "mixed"} {
		h.call(conversation, "", "2026-11-15T10:00:00Z", `"model":"`+opus+`","tokens":10`)
	}
	h.plan("inline", "p1-1-0", .25, `"fold":"p-1-0"`)
	h.plan("inline", "p2-1-1", .25, `"fold":"p-1-0"`)   // recalls something
	h.plan("inline", "p3-77-0", .50, `"fold":"p-77-0"`) // of another conversation
	h.put("background", "", timeline.Record{Kind: "summary", Key: "p-2-0",
		Data: []byte(`{"text":"t","cost":0.125,"model":"gpt-4o"}`)}, "2026-11-15T10:00:00Z")
	h.plan("background", "p1-2-0", 0, `"fold":"p-2-0"`)
	h.plan("background", "p2-2-1", .125, `"fold":"p-2-1","reused":0.125`)
	h.plan("background", "p3-2-2", .125, `"fold":"p-2-2"`)            // of an earlier version
	h.plan("background", "p4-2-3", .125, `"fold":"p-2-3","reused":0`) // costs as much by chance
	h.plan("mixed", "p1-3-0r", .75, `"fold":"p-3-0r","reused":0.25`)
	h.put("items", "", timeline.Record{Kind: timeline.KindPlan, Key: "p1", Data: []byte(`{"summary":{"cost":2}}`)},
		"2026-11-15T10:00:00Z")
	reader := usage.NewReader(h.store)
	check := func(want map[string]float64) {
		t.Helper()
		r, err := reader.Read(context.Background(), timeline.Local, usage.Options{By: usage.Conversation})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, row := range r.Rows {
			got[row.Key] = row.Summaries
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check(map[string]float64{"inline": .25, "background": .25, "mixed": .5, "items": 2})
	// The second check uses the same reader, which reads only the plans that are new.
	h.plan("inline", "p4-1-2", .75, `"fold":"p-1-2"`)
	check(map[string]float64{"inline": 1, "background": .25, "mixed": .5, "items": 2})
}

// lateCall is a store in which a call with a plan is written while its calls are read.
type lateCall struct {
	timeline.Store
	write func()
}

func (s *lateCall) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	found, err := s.Store.Records(ctx, tenant, conversation, kind, key)
	if kind == "call" && s.write != nil {
		write := s.write
		s.write = nil
		write()
	}
	return found, err
}

// A summary counts, too, whose call is written while a reader is at it.
func TestASummaryOfALateCallCounts(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	h.call("a", "", "2026-11-15T10:00:00Z", `"model":"`+opus+`","tokens":10`)
	reader := usage.NewReader(&lateCall{h.store, func() {
		h.call("a", "", "2026-11-15T10:01:00Z", `"model":"`+opus+`","tokens":10`)
		h.plan("a", "p1-2-0", .25, `"fold":"p-2-0","reused":0`)
	}})
	for _, want := range []float64{0, .25} {
		r, err := reader.Read(context.Background(), timeline.Local, usage.Options{By: usage.Conversation})
		if err != nil || r.Rows[0].Summaries != want {
			t.Errorf("%+v, %v: want %v", r.Rows, err, want)
		}
	}
}

// A call costs what its service tier costs, and is counted as one of that tier. Without Oriel it
// would have had the same tier.
func TestAServiceTierHasItsOwnPrice(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	const call = `"model":"gpt-6.1-terra","tokens":100000,"came":200000,"plan":"p","usage":{"input":100000,"output":0`
	h.call("a", "", "2026-11-15T10:00:00Z", call+`}`)
	h.call("b", "", "2026-11-15T10:00:01Z", call+`,"service":"flex"}`)
	h.call("c", "", "2026-11-15T10:00:02Z", call+`,"service":"priority"}`)
	r := h.read(usage.Options{By: usage.Conversation})
	for _, row := range r.Rows {
		want := map[string]float64{"a": .1, "b": .05, "c": .2}[row.Key]
		if row.Cost != want || row.Without != 2*want {
			t.Errorf("%s: cost %v of %v, want %v of %v", row.Key, row.Cost, row.Without, want, 2*want)
		}
	}
	if got := r.Total.Services; len(got) != 2 || got["flex"] != 1 || got["priority"] != 1 {
		t.Errorf("tiers: %v", got)
	}
}

// What was written to the cache for the longer lifetime is there after the shorter one.
func TestTheLongerLifetimeOfACacheCounts(t *testing.T) {
	for written, want := range map[string]float64{"cache_write": .05, "cache_write_1h": .0005} {
		h := &history{t: t, store: memory.New()}
		h.call("a", "", "2026-11-15T10:00:00Z",
			`"model":"gpt-6.1-terra","tokens":100000,"usage":{"input":0,"`+written+`":100000,"output":0}`)
		h.call("a", "", "2026-11-15T12:00:00Z", `"model":"gpt-6.1-terra","tokens":50000,`+
			`"repeats":{"came":50000,"sent":50000}`)
		r := h.read(usage.Options{By: usage.Hour})
		if got := r.Rows[1].Cost; got < want || got > 6*want {
			t.Errorf("%s: two hours later 50,000 tokens cost %v, want %v", written, got, want)
		}
	}
}
