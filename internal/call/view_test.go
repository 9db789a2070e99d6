package call_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// talker is a client that says something new with every call.
type talker struct {
	*bench
	list   []json.RawMessage
	said   int
	header []string
	calls  int
	last   []byte // what the model was sent last
	more   string // fields of the body beside model and messages
	claude bool   // speaks Anthropic's protocol
}

func newTalker(b *bench, header ...string) *talker {
	return &talker{bench: b, header: append([]string{"X-Oriel-Conversation", "talk"}, header...)}
}

// words are what the nth thing is that is said: long, and unlike all others.
func words(n int) string {
	return fmt.Sprintf("thing-%d-said: ", n) + strings.Repeat(fmt.Sprintf("harbour %d lies east of pier %d; ", n, n*7),
		20)
}

// say sends what is said next, with everything before it.
func (k *talker) say() *http.Response {
	k.t.Helper()
	k.said++
	k.list = append(k.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, words(k.said))))
	return k.again()
}

// again sends what is there.
func (k *talker) again() *http.Response {
	k.t.Helper()
	list, err := json.Marshal(k.list)
	if err != nil {
		k.t.Fatal(err)
	}
	body := fmt.Appendf(nil, `{"model":"gpt-4o"%s,"messages":%s}`, k.more, list)
	path, format := "/v1/chat/completions", wire.Chat
	if k.claude {
		path, format = "/v1/messages", wire.Anthropic
		body = fmt.Appendf(nil, `{"model":"claude-sonnet-4-6","max_tokens":500%s,"messages":%s}`, k.more, list)
	}
	resp, answer := k.send(path, body, k.header...)
	if resp.StatusCode != http.StatusOK {
		k.t.Fatalf("%s: %s", resp.Status, answer)
	}
	k.list = append(k.list, readReply(k.t, format, false, answer).Message)
	k.calls++
	k.settle(k.calls)
	k.mu.Lock()
	k.last = k.bodies[len(k.bodies)-1]
	k.mu.Unlock()
	return resp
}

// shows reports whether the last call showed the model what was said as the nth.
func (k *talker) shows(n int) bool { return bytes.Contains(k.last, []byte(words(n))) }

// until says more until a plan other than the last one holds.
func (k *talker) untilCut() (plan string) {
	k.t.Helper()
	for before := "?"; ; {
		r := k.say()
		now := r.Header.Get("X-Oriel-Plan")
		if before != "?" && now != before {
			return now
		}
		if before = now; k.said > 200 {
			k.t.Fatal("nothing is ever cut")
		}
	}
}

// told returns the events of a kind.
func (b *bench) told(kind string) (out []oriel.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func replying(*fakemodel.Request) fakemodel.Answer {
	return fakemodel.Answer{Text: "Noted.", Input: 100, Output: 5}
}

func thrifty(o *call.TestOptions) { o.Profile = "thrifty" }

func openStore(t *testing.T, dir string) timeline.Store {
	t.Helper()
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// person is somebody at the command line, beside a proxy that runs.
func (k *talker) person(dir string, do func(*oriel.Conversation) error) error {
	k.t.Helper()
	e, err := oriel.Open(ctx, oriel.Config{Dir: dir, NoEmbed: true})
	if err != nil {
		k.t.Fatal(err)
	}
	defer e.Close()
	c, err := e.Conversation(ctx, "talk")
	if err != nil {
		k.t.Fatal(err)
	}
	return do(c)
}

// SPEC A6, E5: what is pinned comes back with the next call and stays; what does not fit
// is refused with the numbers.
func TestPinsActOnTheNextCall(t *testing.T) {
	dir := t.TempDir()
	b := start(t, openStore(t, dir), replying, thrifty)
	k := newTalker(b, "X-Oriel-Budget", "4000")
	k.untilCut()
	gone := 0
	for n := 3; n < k.said && gone == 0; n++ { // should the first leave, the second is what the talk begins with
		if !k.shows(n) {
			gone = n
		}
	}
	if gone == 0 {
		t.Fatal("a cut left nothing out")
	}
	id := int64(2*gone - 1) // replies have the even ones
	if err := k.person(dir, func(c *oriel.Conversation) error { return c.Pin(ctx, id) }); err != nil {
		t.Fatal(err)
	}
	k.say()
	if !k.shows(gone) {
		t.Errorf("thing %d is pinned and not shown", gone)
	}
	if e := k.told(oriel.EventPin); len(e) != 1 || e[0].Conversation != "talk" || e[0].TokensAfter == 0 ||
		e[0].Plan == "" || e[0].Error != "" {
		t.Errorf("events %+v", e)
	}
	before := k.last
	k.say()
	if end := bytes.LastIndex(before, []byte(`}]`)); !bytes.HasPrefix(k.last, before[:end]) {
		t.Error("the view has another beginning although nothing was cut")
	}
	for range 3 {
		k.untilCut()
		if !k.shows(gone) {
			t.Errorf("thing %d is pinned and left", gone)
		}
	}
	// All cannot stay.
	var refused error
	for n := 2; n < k.said && refused == nil; n++ {
		refused = k.person(dir, func(c *oriel.Conversation) error { return c.Pin(ctx, int64(2*n-1)) })
	}
	if !errors.Is(refused, window.ErrCannotFit) || !strings.Contains(refused.Error(), "budget of 4000") {
		t.Errorf("pinning everything: %v", refused)
	}
	if m := regexp.MustCompile(`have (\d+) tokens, all that is pinned or held has (\d+);`).FindStringSubmatch(
		fmt.Sprint(refused)); m == nil {
		t.Errorf("the refusal has no numbers: %v", refused)
	} else if size, _ := strconv.Atoi(m[1]); size <= 0 {
		t.Errorf("what does not fit has %d tokens", size)
	} else if all, _ := strconv.Atoi(m[2]); all < size || all < 2000 || all > 8000 {
		t.Errorf("%d tokens are pinned, %d of them do not fit into 4,000", all, size)
	}
	k.say()
	if err := k.person(dir, func(c *oriel.Conversation) error {
		for n := range k.said {
			if err := c.Unpin(ctx, int64(2*n+1)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	k.untilCut()
	k.untilCut()
	if k.shows(gone) {
		t.Errorf("thing %d is not pinned any more and stays", gone)
	}
	if err := k.person(dir, func(c *oriel.Conversation) error { return c.Pin(ctx, 100_000) }); !errors.Is(err,
		oriel.ErrNoItem) {
		t.Error(err)
	}
	if p := k.model.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// SPEC E5: undo brings back what a plan left out, holds it until release, over a restart
// too.
func TestUndoHoldsUntilReleased(t *testing.T) {
	dir := t.TempDir()
	b := start(t, openStore(t, dir), replying, thrifty)
	k := newTalker(b, "X-Oriel-Budget", "4000")
	k.untilCut()
	if !k.shows(1) || k.shows(2) {
		t.Fatal("the first cut left other things out than was thought")
	}
	var gone []int
	for n := 2; n < k.said; n++ {
		if !k.shows(n) {
			gone = append(gone, n)
		}
	}
	var plans []oriel.Plan
	if err := k.person(dir, func(c *oriel.Conversation) (err error) {
		plans, err = c.Plans(ctx, 0)
		return err
	}); err != nil || len(plans) == 0 || plans[0].Undo == "" {
		t.Fatal(plans, err)
	}
	undo := func(plan string) (undone string, err error) {
		err = k.person(dir, func(c *oriel.Conversation) (err error) {
			u, err := c.WouldUndo(ctx, plan)
			if err != nil {
				return err
			}
			undone = u.Plan
			return c.Undo(ctx, plan)
		})
		return undone, err
	}
	if got, err := undo(""); err != nil || got != plans[0].Undo {
		t.Fatalf("undone %q of %q, %v", got, plans[0].Undo, err)
	}
	if got, err := undo(plans[0].Undo); err != nil || got != plans[0].Undo {
		t.Errorf("undone twice: %q, %v", got, err)
	}
	if _, err := undo("p-none"); !errors.Is(err, oriel.ErrNoPlan) {
		t.Error(err)
	}
	holds := func(when string) {
		t.Helper()
		for _, n := range gone {
			if !k.shows(n) {
				t.Errorf("%s: thing %d is held and not shown", when, n)
			}
		}
	}
	k.say()
	holds("at once")
	if e := k.told(oriel.EventUndo); len(e) != 1 || e[0].Items != 2*len(gone) || e[0].Error != "" {
		t.Errorf("events %+v", e)
	}
	k.untilCut()
	holds("after the next cut")

	// A new process.
	again := newTalker(start(t, openStore(t, dir), replying, thrifty), "X-Oriel-Budget", "4000")
	again.list, again.said, again.calls = k.list, k.said, 0
	k = again
	k.untilCut()
	holds("after a restart")

	if err := k.person(dir, func(c *oriel.Conversation) error { return c.Release(ctx) }); err != nil {
		t.Fatal(err)
	}
	k.say()
	holds("nothing leaves at once") // there was room
	k.untilCut()
	k.untilCut()
	if k.shows(gone[0]) {
		t.Errorf("thing %d is released and stays", gone[0])
	}
	if e := k.told(oriel.EventRelease); len(e) != 1 {
		t.Errorf("events %+v", e)
	}
	if p := k.model.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// What another program pins without asking whether it fits is refused by the proxy, once,
// and the view stays as it is.
func TestWhatCannotFitIsTold(t *testing.T) {
	dir := t.TempDir()
	b := start(t, openStore(t, dir), replying, thrifty)
	k := newTalker(b, "X-Oriel-Budget", "4000")
	k.untilCut()
	k.say()
	before := k.last
	s := openStore(t, dir)
	defer s.Close()
	change := timeline.Change{Conversation: "talk", Stay: true, Now: time.Now()}
	for id := range len(k.list) {
		change.Put = append(change.Put, timeline.Record{Kind: "pin", Key: fmt.Sprint(id + 1)})
	}
	if _, err := s.Apply(ctx, timeline.Local, change); err != nil {
		t.Fatal(err)
	}
	k.say()
	e := k.told(oriel.EventPin)
	if len(e) != 1 || !strings.Contains(e[0].Error, "in the budget of 4000") {
		t.Errorf("events %+v", e)
	}
	if end := bytes.LastIndex(before, []byte(`}]`)); !bytes.HasPrefix(k.last, before[:end]) {
		t.Error("the view has another beginning")
	}
	k.say()
	if e := k.told(oriel.EventPin); len(e) != 1 {
		t.Errorf("it is told again: %+v", e)
	}
}

// SPEC D6, B7: in profile chat the size follows what is said, in steps, over a restart
// too.
func TestChatAdapts(t *testing.T) {
	dir := t.TempDir()
	chat := func(o *call.TestOptions) { o.Profile = "chat" }
	k := newTalker(start(t, openStore(t, dir), replying, chat))
	for range 70 {
		k.say()
	}
	sizes := k.told(oriel.EventResize)
	if len(sizes) == 0 {
		t.Fatal("the size never moves")
	}
	step := 8000 / 4
	for _, e := range sizes {
		if d := e.TokensAfter - e.TokensBefore; d > step || d < -step || e.TokensAfter < 4000 || e.TokensAfter > 32000 {
			t.Errorf("from %d to %d", e.TokensBefore, e.TokensAfter)
		}
	}
	now := sizes[len(sizes)-1].TokensAfter
	cuts := k.told(oriel.EventCut)
	if len(cuts) == 0 || cuts[len(cuts)-1].TokensAfter > now {
		t.Errorf("at a size of %d: %+v", now, cuts)
	}
	again := newTalker(start(t, openStore(t, dir), replying, chat))
	again.list, again.said = k.list, k.said
	again.list = append(again.list,
		json.RawMessage(`{"role":"user","content":"Why does this function fail with an error?"}`))
	again.again()
	if e := again.told(oriel.EventResize); len(e) > 1 || len(e) == 1 && e[0].TokensBefore != now {
		t.Errorf("it was %d before the restart: %+v", now, e)
	}
	if p := k.model.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// A budget that is not a number of tokens does not fail the call, and an event names the
// header and what to write instead.
func TestInvalidBudgetsAreTold(t *testing.T) {
	for _, value := range []string{"NaN", "-5", "0", "1e4", "8000 tokens", "99999999999999999999"} {
		k := newTalker(start(t, openStore(t, t.TempDir()), replying), "X-Oriel-Budget", value)
		if r := k.say(); r.StatusCode != http.StatusOK || r.Header.Get("X-Oriel-Action") != "none" {
			t.Error(value, r.Status, r.Header)
		}
		if e := k.told(oriel.EventBudget); len(e) != 1 ||
			!strings.Contains(e[0].Error, fmt.Sprintf("X-Oriel-Budget %q is ignored: give a whole number", value)) {
			t.Errorf("%s: events %+v", value, e)
		}
	}
}

// An unknown profile is no error of the call; a known one is taken.
func TestProfilesByHeader(t *testing.T) {
	b := start(t, openStore(t, t.TempDir()), replying)
	k := newTalker(b, "X-Oriel-Profile", "frugal")
	if r := k.say(); r.Header.Get("X-Oriel-Action") != "none" {
		t.Error(r.Header)
	}
	if e := k.told(oriel.EventProfile); len(e) != 1 || !strings.Contains(e[0].Error, `"frugal"`) ||
		!strings.Contains(e[0].Error, "off is used") {
		t.Errorf("events %+v", e)
	}
	k.header = []string{"X-Oriel-Conversation", "talk", "X-Oriel-Profile", "full", "X-Oriel-Budget", "2000"}
	k.untilCut()
}

// SPEC B4: a percent of the model's window is where a profile cuts.
func TestProfilesHaveThresholds(t *testing.T) {
	percent := func(p map[string]float64) func(*call.TestOptions) {
		return func(o *call.TestOptions) { o.Profile, o.Thresholds = "thrifty", window.Thresholds{Profiles: p} }
	}
	b := start(t, openStore(t, t.TempDir()), replying, percent(map[string]float64{"thrifty": 5})) // of 128,000
	k := newTalker(b)
	k.untilCut()
	if e := k.told(oriel.EventCut); len(e) != 1 || e[0].TokensBefore <= 6400 || e[0].TokensBefore > 7500 ||
		e[0].TokensAfter > 3200 {
		t.Errorf("events %+v", e)
	}
}

// Every event has who, what and how much.
func TestEventsAreWhole(t *testing.T) {
	b := start(t, openStore(t, t.TempDir()), replying, thrifty)
	k := newTalker(b, "X-Oriel-Budget", "3000")
	k.untilCut()
	for _, e := range k.told(oriel.EventCut) {
		if e.Call == "" || e.Conversation != "talk" || e.TokensBefore <= 3000 || e.TokensAfter > 3000 ||
			e.TokensAfter == 0 || e.Plan == "" || e.Items == 0 || e.Time.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if e := k.told(oriel.EventCall); e[len(e)-1].Plan != k.told(oriel.EventCut)[0].Plan ||
		e[len(e)-1].TokensBefore <= e[len(e)-1].TokensAfter || e[0].Plan != "" ||
		e[0].TokensBefore != e[0].TokensAfter {
		t.Errorf("calls: %+v", e)
	}
	if len(k.told(oriel.EventCut)) != 1 || len(k.told(oriel.EventCall)) != k.calls {
		t.Errorf("%+v", k.events)
	}
	var stored int
	records, err := b.store.Records(ctx, timeline.Local, "talk", "plan", "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if strings.Contains(string(records[i].Data), `"view"`) {
			stored++
		}
	}
	if stored == 0 {
		t.Error("no plan is stored")
	}
	c, err := b.store.Conversation(ctx, timeline.Local, "talk")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := b.store.Messages(ctx, timeline.Local, c.Head, 1, math.MaxInt64, false, func(e *timeline.Entry) error {
		if n++; bytes.Contains(e.Raw, []byte("[Oriel")) {
			t.Errorf("an insertion is part of the history: %s", e.Raw)
		}
		return nil
	}); err != nil || n != len(k.list) {
		t.Errorf("%d messages of %d, %v", n, len(k.list), err)
	}
}

// SPEC E2: a profile's budget grows for what people write, and headers, events and plans
// say so; one that a call asks for does not. A first call goes whole.
func TestAGrownBudgetIsTold(t *testing.T) {
	b := start(t, openStore(t, t.TempDir()), replying, thrifty)
	k := newTalker(b)
	paste := func() *http.Response {
		k.list = append(k.list,
			json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, strings.Repeat("clause ", 80_000))))
		return k.again()
	}
	if r := paste(); r.Header.Get("X-Oriel-Action") != "none" ||
		!strings.HasPrefix(r.Header.Get("X-Oriel-Budget-Grown"), "64000 to ") ||
		!strings.HasSuffix(r.Header.Get("X-Oriel-Budget-Grown"), " for a request that continues nothing") {
		t.Errorf("a first call: %v", r.Header)
	}
	if r := k.say(); r.Header.Get("X-Oriel-Budget-Grown") != "" || r.Header.Get("X-Oriel-Plan") == "" {
		t.Errorf("its continuation: %v", r.Header)
	}
	if r := paste(); !bytes.Contains(k.last, []byte(strings.Repeat("clause ", 80_000))) ||
		!strings.HasSuffix(r.Header.Get("X-Oriel-Budget-Grown"), " for the newest turn") {
		t.Errorf("pasted: %v", r.Header)
	}
	calls := k.told(oriel.EventCall)
	if e := calls[len(calls)-1]; e.Grown == nil || e.Grown.Wish != 64_000 || e.Grown.For != window.ForNewest ||
		e.Budget < e.TokensAfter {
		t.Errorf("%+v", e)
	}
	k.header = append(k.header, "X-Oriel-Budget", "5000")
	if r := paste(); r.Header.Get("X-Oriel-Budget-Grown") != "" ||
		bytes.Contains(k.last, []byte(strings.Repeat("clause ", 80_000))) {
		t.Errorf("with a budget that is asked for: %v", r.Header)
	}
}

// SPEC E3: after one call with a small budget the next one sends everything again.
func TestACutDoesNotOutliveItsBudget(t *testing.T) {
	b := start(t, openStore(t, t.TempDir()), replying, func(o *call.TestOptions) { o.Profile = "full" })
	k := newTalker(b)
	for range 10 {
		k.say()
	}
	k.header = append(k.header, "X-Oriel-Budget", "1500")
	if k.say(); k.shows(2) {
		t.Fatal("nothing was cut")
	}
	k.header = k.header[:2]
	if r := k.say(); !k.shows(2) || r.Header.Get("X-Oriel-Action") != "none" {
		t.Errorf("with all that the model takes it is still cut: %v", r.Header)
	}
}

// SPEC B4: profiles of one's own are known by name, and every policy can be had by one. The
// profile's budget, low mark and recall hold for its calls.
func TestProfilesOfOnesOwn(t *testing.T) {
	var own []window.Profile
	for _, policy := range window.Policies() {
		own = append(own, window.Profile{Name: "by-" + policy, Policy: policy, Budget: 3000, Low: 0.4, Recall: -1})
	}
	table, err := window.NewProfiles(own...)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range window.Policies() {
		t.Run(policy, func(t *testing.T) {
			store := openStore(t, t.TempDir())
			b := start(t, store, replying, func(o *call.TestOptions) { o.Profile, o.Profiles = "off", table })
			k := newTalker(b, "X-Oriel-Profile", "by-"+policy)
			if policy == "ladder" { // whose own budget would grow for what is said
				k.header = append(k.header, "X-Oriel-Budget", "3000")
			}
			plan := k.untilCut()
			b.settle(k.said)
			if unknown := k.told(oriel.EventProfile); len(unknown) > 0 {
				t.Errorf("%+v", unknown)
			}
			stored, ok := planOf(t, store, plan)
			if !ok {
				t.Fatalf("plan %s is not stored", plan)
			}
			var got window.Plan
			if err := json.Unmarshal(stored.Data, &got); err != nil {
				t.Fatal(err)
			}
			if got.Policy != policy || got.TokensAfter > got.Budget || got.TokensAfter >= got.TokensBefore {
				t.Errorf("%+v", got)
			}
			if p := k.model.Problems(); len(p) > 0 {
				t.Error(p)
			}
		})
	}
	b := start(t, openStore(t, t.TempDir()), replying, func(o *call.TestOptions) {
		o.Profile, o.Profiles = "by-mask",
			table
	})
	k := newTalker(b, "X-Oriel-Profile", "by-fofi")
	k.say()
	if e := k.told(oriel.EventProfile); len(e) != 1 || !strings.Contains(e[0].Error, "did you mean by-fifo?") ||
		!strings.Contains(e[0].Error, "by-mask is used") {
		t.Errorf("%+v", e)
	}
}

// SPEC E5: an undo says before which messages come back and which leave for them, does so
// with the next call, and tells it; nothing older is in view than what left.
func TestUndoSaysWhatLeaves(t *testing.T) {
	dir := t.TempDir()
	b := start(t, openStore(t, dir), replying, thrifty)
	k := newTalker(b, "X-Oriel-Budget", "4000")
	k.untilCut()
	for k.say().Header.Get("X-Oriel-Tokens-After") < "3500" { // four digits each
	}
	var would oriel.Undoing
	if err := k.person(dir, func(c *oriel.Conversation) (err error) {
		if would, err = c.WouldUndo(ctx, ""); err != nil {
			return err
		}
		return c.Undo(ctx, "")
	}); err != nil {
		t.Fatal(err)
	}
	if len(would.Leaves) == 0 {
		t.Fatal("nothing has to leave: the test shows nothing")
	}
	k.say()
	e := k.told(oriel.EventUndo)
	if len(e) != 1 || e[0].Back != timeline.RangesOf(would.Back).String() || e[0].Left == "" || e[0].Error != "" {
		t.Fatalf("%+v, told before: %+v", e, would)
	}
	left, err := timeline.ParseRanges(e[0].Left)
	if err != nil || int64(left[0][0]) != would.Leaves[0] || left.Len() < len(would.Leaves) {
		t.Errorf("%s left, %v was told", e[0].Left, would.Leaves)
	}
	// What does not fit is refused with the numbers.
	k.untilCut()
	k.untilCut()
	for range 20 {
		err = k.person(dir, func(c *oriel.Conversation) error {
			return c.Undo(ctx, "")
		})
		if err != nil {
			break
		}
	}
	if !errors.Is(err, window.ErrCannotFit) || !strings.Contains(err.Error(), "tokens") ||
		!strings.Contains(err.Error(), "budget of 4000") {
		t.Errorf("undoing everything: %v", err)
	}
}
