package oriel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Call is one call.
type Call struct {
	calls   *calls
	tuning  *tuning
	request *Request
	body    *wire.Body
	system  []chat.Message // leading system messages
	chain   []chat.Message // the others: the history
	hints   thread.Hints
	thread  *thread.Thread
	// found, where it is not nil, is closed when thread is there, nil if it could not
	// be found.
	found chan struct{}
	began time.Time

	shown    *view.Result     // what is sent; nil: what came, unseen by any view
	fresh    []*view.Cut      // cuts that this call made
	fellBack bool             // no view could be made, and shown is what is left
	size     *timeline.Record // the adaptive size, to be stored
	// most is what is sent after a refusal, teaches what is learnt if the provider takes
	// that; 0 for nothing.
	most, teaches int
	gaveUp        bool // the cuts made after a refusal are forgotten
	named         bool // the provider told the figure
	replied       bool // it is one for the reply, too: the prompt alone was within it
	firm          int  // cuts that were made before the first refusal
	unbound       bool // the provider refused thinking where it stood

	counted chan struct{}   // closed when tokens is there
	tokens  token.Breakdown // of the prompt

	status int
	first  time.Time // when the answer began
	answer *answer

	// unrecorded: the request could not be read or shown, and nothing is kept of it.
	// other is the body that is sent; nil for what came.
	unrecorded bool
	other      []byte

	readKeys sync.Once
	keys     secret.Keys // of the call; see secrets
}

// countBeside counts the prompt while the provider is at work.
func (c *Call) countBeside() {
	defer close(c.counted)
	defer func() {
		if p := recover(); p != nil {
			c.calls.report(c.request.ID, "", fmt.Errorf("a panic while counting: %v", p))
		}
	}()
	c.count()
}

// count counts the prompt as it came.
func (c *Call) count() {
	model := c.tuning.o.Models.Lookup(c.body.Model)
	c.tokens = token.NewCounter(model, token.Options{Cache: c.calls.cache, Scale: c.calls.o.Calibration.Scale(token.LearntKey(c.request.Tenant, c.body.Model))}).Request(&c.body.Request)
}

// find finds the conversation of a call.
func (c *Call) find(ctx context.Context, request *thread.Request, wait time.Duration) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	th, err := c.calls.index.Find(ctx, request)
	if err == nil {
		c.thread = th
	}
	return err
}

// findLate finds the conversation of a call that is under way. Where the store cannot
// tell it in any time, it is what memory knows.
func (c *Call) findLate(request *thread.Request) {
	defer close(c.found)
	if c.find(context.Background(), request, c.calls.o.Waits.Late) == nil {
		return
	}
	request.Offline = true
	if err := c.find(context.Background(), request, c.calls.o.Waits.Late); err != nil {
		c.calls.failOpen(c.request.ID, "", err)
	}
}

// known reports whether the conversation is known by now.
func (c *Call) known() bool {
	if c.found != nil {
		select {
		case <-c.found:
		default:
			return false
		}
	}
	return c.thread != nil
}

// input is what a view is made of.
func (c *Call) input() *view.Input {
	return &view.Input{
		ID: fmt.Sprintf("%s-%d", c.request.ID, len(c.fresh)), Body: c.body, Thread: c.thread, Profile: c.tuning.profile(c.request), Asked: c.request.Profile != "", Budget: budgetOf(c.request.Header),
		Betas: betas(c.request.Header), PlainCache: c.tuning.o.PlainCache, Now: c.began, Most: c.most, Unbind: c.unbound,
	}
}

// guardedShow is show, whose panics are errors.
func (c *Call) guardedShow(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	return c.show(ctx)
}

// show decides what is sent.
func (c *Call) show(ctx context.Context) error {
	in := c.input()
	pins, news, err := c.calls.wanted(ctx, c.thread)
	if err != nil && c.calls.worthTelling(c.began) {
		c.calls.report(c.request.ID, c.thread.Conversation, fmt.Errorf("what was pinned, undone or planned elsewhere could not be read, what is known of it holds: %w", err))
	}
	in.Pins = pins
	in.Cold = c.calls.cold(ctx, c.thread, c.tuning.o.Models.Lookup(c.body.Model), c.body, c.began)
	if in.Profile == "chat" && in.Budget == 0 {
		in.Size = c.adapt(ctx)
	}
	shown, err := c.tuning.view.Show(ctx, in)
	if err != nil {
		return err
	}
	c.shown, c.fellBack = shown, false
	c.tokens = token.Breakdown{Total: shown.After, Local: shown.Local}
	c.fresh = append(c.fresh, shown.Made...)
	c.prepare() // as far as it is stored, while the provider is at work
	if shown.Cut != nil {
		c.calls.recentPlans.keep(c.request.Tenant, c.thread, shown.Cut)
	}
	c.tell(shown, pins, news)
	if shown.Failed != nil {
		c.calls.report(c.request.ID, c.thread.Conversation, shown.Failed)
	}
	return nil
}

// prepare has recall read and embed, in the background, a conversation that has a plan, so
// that the next question finds what the plan leaves out.
func (c *Call) prepare() {
	if c.calls.o.Recall != nil && c.shown != nil && c.shown.Cut != nil && !c.thread.Stay {
		c.calls.o.Recall.Prepare(recall.Where{Tenant: c.thread.Tenant, Conversation: c.thread.Conversation})
	}
}

// adapt is the adaptive size of the conversation.
func (c *Call) adapt(ctx context.Context) int {
	allowed := 0
	m := c.tuning.o.Models.Lookup(c.body.Model)
	if b, err := window.BudgetOf(window.Bounds{Model: m, Betas: betas(c.request.Header), Output: max(c.body.MaxOutput, c.body.ThinkingBudget), Margin: c.tuning.o.Margin}); err == nil {
		allowed = b.Allowed
	}
	size, was, stored, err := c.calls.adapt(ctx, c.thread, c.chain, allowed)
	if err != nil {
		c.calls.report(c.request.ID, c.thread.Conversation, fmt.Errorf("the size of the conversation's window could not be read or kept: %w", err))
		return size
	}
	if stored != nil {
		c.size = stored
	}
	if size != was {
		c.calls.event(Event{Kind: EventResize, Call: c.request.ID, Conversation: c.thread.Conversation, Model: c.body.Model, TokensBefore: was, TokensAfter: size})
	}
	return size
}

// tell tells what a view does that the last one did not.
func (c *Call) tell(shown *view.Result, pins []int, news []string) {
	e := Event{Call: c.request.ID, Conversation: c.thread.Conversation, Model: c.body.Model, TokensBefore: shown.Before, TokensAfter: shown.After, Budget: shown.Budget, Grown: shown.Grown}
	if shown.Cut != nil {
		e.Plan = shown.Cut.ID
	}
	say := func(kind string, items int, cost float64, err string) {
		e.Kind, e.Items, e.Cost, e.Error = kind, items, cost, err
		c.calls.event(e)
	}
	refused := ""
	if shown.Refused != nil {
		refused = shown.Refused.Error()
	}
	if len(news) == 0 && (len(shown.Restored) > 0 || refused != "") {
		news = []string{EventPin} // from before a restart
	}
	e.Back, e.Left = timeline.RangesOf(shown.Restored).String(), timeline.RangesOf(shown.Left).String()
	for _, kind := range news {
		say(kind, len(pins), 0, refused)
	}
	e.Back, e.Left = "", ""
	if !shown.New {
		return
	}
	if shown.Folded {
		e.Plan = shown.Made[0].ID
		plan := &shown.Made[0].Plan
		say(EventCut, len(plan.Blocks), 0, "")
		// What was written behind the scenes has been told.
		if c.tuning.o.Condense != nil && c.tuning.o.Condense.Inline || plan.Summary.Error != "" {
			e.TokensBefore, e.TokensAfter = condensed(shown.Made[0])
			say(EventCondensation, shown.Made[0].Dropped.Len(), plan.Summary.Cost, plan.Summary.Error)
			e.TokensBefore, e.TokensAfter = shown.Before, shown.After
		}
	}
	if shown.Recalled > 0 {
		e.Plan = shown.Cut.ID
		say(EventRecall, 0, 0, "")
	}
}

// condensed are the tokens of the messages that a cut leaves out, and of the summary that
// stands for them.
func condensed(cut *view.Cut) (messages, summary int) {
	for _, b := range cut.Plan.Blocks {
		if cut.Dropped.Has(b.Index) {
			messages += b.Tokens
		}
	}
	for _, in := range cut.Plan.Inserted {
		if in.Kind == condense.KindSummary {
			summary += in.Tokens
		}
	}
	return messages, summary
}

// betas are the provider's features that a request asks for.
func betas(h http.Header) []string {
	var out []string
	for _, v := range h.Values("Anthropic-Beta") {
		for name := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return out
}

// Body returns the body to send; nil for the client's own.
func (c *Call) Body() []byte {
	if c.unrecorded {
		return c.other
	}
	if c.shown == nil || !c.shown.Changed && !c.fellBack {
		return nil
	}
	return c.shown.Body
}

// Refused learns from a refusal what the model takes, and sends less.
func (c *Call) Refused(status int, body []byte) []byte {
	if c.unrecorded || c.found != nil {
		return nil // its plan is not known
	}
	if c.shown != nil && wire.IsUnbound(status, body) {
		return c.unbind()
	}
	o, ok := wire.ReadOverflow(status, body)
	if c.shown == nil || !ok {
		return nil
	}
	sent := c.shown.After
	limit := sent
	agrees := o.Agrees(sent, c.body.MaxOutput)
	n, told := o.Limit, o.Limit > 0 && agrees
	if told && o.Prompt {
		limit = int(float64(sent) * float64(n) / float64(o.Size)) // the prompt alone, as they count
	} else if told && n >= sent && n-c.body.MaxOutput < min(sent, leastLimit) {
		return nil // the reply that is asked for leaves no room, whatever is left out
	} else if told {
		for _, m := range []int{n, n - c.body.MaxOutput} { // some mean the reply, too
			if m > 0 {
				limit = min(limit, m)
			}
		}
	}
	if c.most == 0 {
		c.firm = len(c.fresh)
	}
	c.most, c.named, c.teaches = limit*9/10, told, 0
	c.replied = told && n >= sent && c.body.MaxOutput > 0
	switch {
	case !o.Known || !agrees: // it may quote what somebody said
	case told:
		c.teaches = n * 9 / 10 // with less room for a reply, another call may send as much
	case status != http.StatusRequestEntityTooLarge: // which is about bytes
		c.teaches = c.most
	}
	c.calls.event(Event{Kind: EventOverflow, Call: c.request.ID, Conversation: c.thread.Conversation, Model: c.body.Model, TokensAfter: sent, Error: fmt.Sprintf("the provider refused %d tokens; at most %d are sent now", sent, c.most)})
	ctx, cancel := context.WithTimeout(context.Background(), c.calls.o.Waits.Store)
	defer cancel()
	if err := c.guardedShow(ctx); err != nil || c.shown.After >= sent {
		return nil
	}
	return c.shown.Body
}

func (c *Call) Response(status int, h http.Header) {
	if c.unrecorded {
		return
	}
	c.status, c.first = status, c.calls.o.Now()
	c.answer = newAnswer(c.body.Format, h, c.request.Memory, c.calls.turns)
}

// Header tells the client what became of its call.
func (c *Call) Header(h http.Header) {
	if c.unrecorded {
		h.Set("X-Oriel-Action", "error")
		return
	}
	if c.known() {
		h.Set(thread.HeaderConversation, c.thread.Conversation)
	}
	if s := c.shown; s != nil {
		h.Set("X-Oriel-Action", s.Action)
		if c.fellBack {
			h.Set("X-Oriel-Action", "error")
		}
		h.Set("X-Oriel-Tokens-Before", strconv.Itoa(s.Before))
		h.Set("X-Oriel-Tokens-After", strconv.Itoa(s.After))
		if s.Cut != nil {
			h.Set("X-Oriel-Plan", s.Cut.ID)
		}
		if s.Grown != nil {
			h.Set("X-Oriel-Budget-Grown", fmt.Sprintf("%d to %d for %s", s.Grown.Wish, s.Budget, s.Grown.For))
		}
		return
	}
	h.Set("X-Oriel-Action", "none")
	if c.fellBack {
		h.Set("X-Oriel-Action", "error")
	}
	select {
	case <-c.counted:
	case <-time.After(c.calls.o.Waits.Brief):
		return
	}
	if n := c.tokens.Total; n > 0 {
		h.Set("X-Oriel-Tokens-Before", strconv.Itoa(n))
		h.Set("X-Oriel-Tokens-After", strconv.Itoa(n))
	}
}

func (c *Call) Write(p []byte) {
	if c.answer != nil {
		c.answer.write(p)
	}
}

// End hands the call over to be written.
func (c *Call) End(err error) {
	if c.unrecorded {
		return
	}
	handed := false
	defer func() {
		if !handed {
			c.answer.leave()
		}
	}()
	<-c.counted
	if c.found != nil {
		<-c.found
	}
	if c.thread == nil {
		return // and it was told why
	}
	reply, messages := c.reply()
	if reply.Complete && errors.Is(err, ErrLeft) {
		err = nil // the client left when it had all
	}
	if c.most > 0 && (c.status != http.StatusOK || reply.Error != nil) {
		c.giveUp()
	}
	id := reply.ID
	if c.body.Format != wire.Responses || len(id) > clip.Name {
		id = ""
	}
	says := c.calls.index.Done(c.thread, messages, id)
	if c.status == http.StatusUnauthorized || c.status == http.StatusForbidden {
		// Who has no key, such as a page in the user's browser, leaves nothing.
		c.calls.index.Stored(c.thread, false)
		c.calls.counters.Refused.Add(1)
		return
	}
	e := c.entry(reply, err)
	if c.answer != nil && c.answer.lost != nil {
		c.calls.unkept(c.request.ID, c.thread.Conversation, c.answer.lost)
		if e.Error == "" {
			e.Error = c.answer.lost.Error()
		}
	}
	c.request.Memory.Hold() // until the call is written
	size := int64(len(c.request.Body))
	for i := range messages {
		size += int64(len(messages[i].Raw))
	}
	bad := c.calls.queue.add(queueKey(c.request.Tenant, c.thread.Conversation), size, func() { c.store(e, reply.Usage, messages, says) })
	if handed = bad == nil; !handed {
		c.request.Memory.LetGo()
		c.calls.index.Stored(c.thread, false)
		c.calls.failOpen(c.request.ID, c.thread.Conversation, bad)
	}
}

// store writes a call and emits its event. It counts the call last: whoever sees the count finds
// the rest done.
func (c *Call) store(e *entry, usage wire.Usage, messages []chat.Message, says []timeline.Hash) {
	count, stored := &c.calls.counters.Failed, false
	defer func() {
		if p := recover(); p != nil {
			c.calls.report(c.request.ID, c.thread.Conversation, fmt.Errorf("a panic while writing: %v", p))
		}
		count.Add(1)
	}()
	defer c.request.Memory.LetGo()
	defer c.answer.leave()
	defer func() { c.calls.index.Stored(c.thread, stored) }()
	if err := c.writeWithRetry(e, messages, says); err != nil {
		c.calls.report(c.request.ID, c.thread.Conversation, err)
		return
	}
	count, stored = &c.calls.counters.Written, true
	c.prepare()
	told := Event{
		Kind: EventCall, Call: c.request.ID, Conversation: c.thread.Conversation, Thread: string(c.thread.Kind), Model: c.body.Model,
		TokensBefore: c.tokens.Total, TokensAfter: c.tokens.Total, Reported: usage.TotalInput(), Output: usage.Output, Usage: e.Usage, Error: e.Error,
	}
	if s := c.shown; s != nil {
		told.TokensBefore, told.Budget, told.Grown = s.Before, s.Budget, s.Grown
		if s.Cut != nil {
			told.Plan = s.Cut.ID
		}
	}
	c.calls.event(told)
}

// Pauses before a call that could not be written is tried again.
var pauses = []time.Duration{100 * time.Millisecond, time.Second, 0}

// writeWithRetry writes a call and retries after a failure: a store may be locked or full
// for a while.
func (c *Call) writeWithRetry(e *entry, reply []chat.Message, says []timeline.Hash) error {
	for _, pause := range pauses {
		ctx, cancel := context.WithTimeout(context.Background(), c.calls.o.Waits.Write)
		own := *e
		err := c.write(ctx, &own, reply, says)
		cancel()
		if err == nil {
			c.calls.lastError.Store(nil)
			return nil
		}
		c.calls.lastError.Store(&err)
		if pause == 0 || errors.Is(err, timeline.ErrClosed) || errors.Is(err, timeline.ErrInvalid) {
			return err
		}
		time.Sleep(pause)
	}
	return nil
}

// reply is what the model said, as far as it came. messages are those that belong to
// the history: none of a reply that was cut off.
func (c *Call) reply() (*wire.Reply, []chat.Message) {
	reply := &wire.Reply{Format: c.body.Format}
	if c.answer == nil {
		return reply, nil
	}
	reply = c.answer.reply()
	if u := reply.Usage; u.HasUsage && c.tokens.Local > 0 && c.status == http.StatusOK && reply.Complete && !c.held() {
		if c.calls.o.Calibration.Observe(token.LearntKey(c.request.Tenant, c.body.Model), c.tokens.Local, u.TotalInput()) {
			c.calls.keepSoon()
		}
	}
	c.learn(reply)
	if !reply.Complete || reply.Error != nil { // a client may leave when it has all
		return reply, nil
	}
	messages, bad := c.answer.messages(reply)
	if bad != nil {
		c.calls.report(c.request.ID, c.thread.Conversation, errors.New(c.clean("read the reply: "+bad.Error(), clip.Text)))
		return reply, nil
	}
	return reply, messages
}

// held reports whether the provider has more of the prompt than the request.
func (c *Call) held() bool {
	return c.body.Rules().Held || slices.ContainsFunc(c.body.Members(), func(m wire.Member) bool { return m.Name == "prompt" })
}

// entry is the record of a call: docs/format/calls.md.
type entry struct {
	V      int         `json:"v"`
	Format string      `json:"format"`
	Path   string      `json:"path"`
	Model  string      `json:"model,omitempty"`
	Thread thread.Kind `json:"thread"`
	// Messages is how many of the history the request had, from its first one on;
	// with Before it had those behind so many, and before them Own, by their bytes, of
	// which Head are the history's first.
	Messages int    `json:"messages"`
	Before   int    `json:"before,omitempty"`
	Head     int    `json:"head,omitempty"`
	Forms    string `json:"forms,omitempty"`
	// System is the system prompt, part by part: so many of it stood Apart from the
	// messages, as one Plain text or as a list, the others before them.
	System []string        `json:"system,omitempty"`
	Apart  int             `json:"apart,omitempty"`
	Plain  bool            `json:"plain,omitempty"`
	Tools  string          `json:"tools,omitempty"`
	Rest   json.RawMessage `json:"rest,omitempty"`
	Own    []string        `json:"own,omitempty"`

	Began   time.Time `json:"began"`
	FirstMS float64   `json:"first_ms,omitempty"`
	MS      float64   `json:"ms"`
	Status  int       `json:"status,omitempty"`
	Error   string    `json:"error,omitempty"`

	Reply   string `json:"reply,omitempty"` // the provider's id
	Stop    string `json:"stop,omitempty"`
	Partial string `json:"partial,omitempty"` // content: what came of a reply that was cut off
	Tokens  int    `json:"tokens,omitempty"`
	// Profile, Wish and Hard are what its view was made by: see view.Room. They are not
	// there where no view was made.
	Profile string `json:"profile,omitempty"`
	Wish    int    `json:"wish,omitempty"`
	Hard    int    `json:"hard,omitempty"`
	Usage   *Usage `json:"usage,omitempty"`
}

func (c *Call) entry(reply *wire.Reply, err error) *entry {
	now := c.calls.o.Now()
	e := &entry{
		V: 1, Format: c.body.Format.String(), Path: c.clean(c.request.Path, clip.Line), Model: c.body.Model, Thread: c.thread.Kind,
		Messages: len(c.chain) - c.thread.From, Before: len(c.thread.Before), Head: c.thread.Head,
		Began: timeline.Micro(c.began), MS: ms(now.Sub(c.began)), Status: c.status,
		Reply: c.clean(reply.ID, clip.Name), Stop: c.clean(reply.Stop, clip.Name), Tokens: c.tokens.Total,
	}
	if c.shown != nil {
		e.Profile, e.Wish, e.Hard = c.tuning.profile(c.request), c.shown.Room.Wish, c.shown.Room.Hard
	}
	if !c.first.IsZero() {
		e.FirstMS = ms(c.first.Sub(c.began))
	}
	if u := reply.Usage; u.HasUsage {
		e.Usage = &Usage{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.Reasoning}
	}
	switch {
	case err != nil:
		e.Error = c.clean(err.Error(), clip.Text)
	case reply.Error != nil:
		e.Error = c.clean(reply.Error.Error(), clip.Text)
	}
	return e
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// write stores the call: what is new of its history, the reply, and the record.
func (c *Call) write(ctx context.Context, e *entry, reply []chat.Message, says []timeline.Hash) error {
	top := &contents{}
	c.keepTop(e, top)
	for i := range c.thread.From {
		e.Own = append(e.Own, top.keep(c.chain[i].Raw))
	}
	if part := c.cleanPartial(c.partial(reply)); part != nil {
		e.Partial = top.keep(part)
	}
	stay := c.thread.Stay || c.calls.index.Passed(c.thread)
	change := timeline.Change{Now: c.began, Stay: stay, Continues: c.thread.Continues}
	if w, ok := c.thread.Record(); ok {
		change.Put = append(change.Put, w)
	}
	all := c.resent(c.chain[c.thread.From:], reply)
	for _, i := range c.thread.Echoes { // a reply in the client's words
		all[i-c.thread.From].Ref = "reply"
	}
	asked := len(all) - len(reply)
	for i := asked; i < len(all); i++ { // by this a model's reply is known from what clients say it said
		if all[i].Ref = e.Reply; e.Reply == "" || len(e.Reply) > timeline.MaxRef {
			all[i].Ref = "reply"
		}
	}
	identity := func(i int) timeline.Hash {
		if i < asked {
			return c.thread.Identities[i]
		}
		return says[i-asked]
	}
	var cuts []*view.Cut
	then := func(at *timeline.Appended) (change timeline.Change, err error) {
		change = timeline.Change{Now: c.calls.o.Now(), Stay: stay}
		cuts = c.unstored(at)
		change.Put, change.Contents, err = c.records(e, at, top, cuts)
		return change, err
	}
	_, err := c.calls.log.AppendThen(ctx, c.request.Tenant, c.thread.Conversation, c.thread.Before, all, asked, identity, change, then)
	if errors.Is(err, timeline.ErrNoPlace) { // somebody deleted what goes before
		e.Before, e.Head = 0, 0
		c.thread.Before = nil
		_, err = c.calls.log.AppendThen(ctx, c.request.Tenant, c.thread.Conversation, nil, all, asked, identity, change, then)
	}
	if err != nil {
		return err
	}
	for _, cut := range cuts {
		cut.MarkStored()
	}
	return nil
}

// contents are the bytes that the record of a call refers to.
type contents struct {
	raw    [][]byte
	hashes []timeline.Hash
}

func (c *contents) keep(raw []byte) string { return c.add(raw, timeline.HashOf(raw)) }

func (c *contents) add(raw []byte, h timeline.Hash) string {
	c.raw, c.hashes = append(c.raw, raw), append(c.hashes, h)
	return h.String()
}

// keepStripped keeps a JSON text without credentials. Texts that have none are remembered
// in bare, so that tools, which come with every call, are read once.
func (c *contents) keepStripped(raw []byte, bare *hashSet) string {
	h := timeline.HashOf(raw)
	if !bare.has(h) {
		if clean := withoutSecrets(raw); len(clean) != len(raw) || len(raw) > 0 && &clean[0] != &raw[0] {
			return c.keep(clean)
		}
		bare.add(h)
	}
	return c.add(raw, h)
}

// hashSet remembers the hashes of some contents. It is safe for concurrent use.
type hashSet struct {
	mu  sync.Mutex // protects all
	all map[timeline.Hash]struct{}
}

// maxHashes is how many hashes a hashSet remembers before it begins anew.
const maxHashes = 1024

func (s *hashSet) has(h timeline.Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.all[h]
	return ok
}

func (s *hashSet) add(h timeline.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= maxHashes {
		s.all = map[timeline.Hash]struct{}{}
	}
	s.all[h] = struct{}{}
}

// records are those of a call whose request ends at a place, and of its cuts, with their
// contents.
func (c *Call) records(e *entry, at *timeline.Appended, top *contents, cuts []*view.Cut) (records []timeline.Record, raw [][]byte, err error) {
	e.Forms = at.Forms.String()
	record := timeline.Record{Kind: "call", Key: c.request.ID, At: at.Place(int64(at.Forms.Len())), Time: c.began, Contents: top.hashes}
	if record.Data, err = json.Marshal(e); err != nil {
		return nil, nil, err
	}
	plans, more, err := c.plans(cuts, at)
	if err != nil {
		return nil, nil, err
	}
	records = append([]timeline.Record{record}, plans...)
	if c.size != nil {
		records = append(records, *c.size)
	}
	return records, slices.Concat(top.raw, more), nil
}

// unstored are the cuts that are to be stored with this call: those that it made, and the
// one by which it is shown, if the call that made it could not be written, somebody has
// deleted it with what it covers, or it is that of another conversation that begins like
// this one.
func (c *Call) unstored(at *timeline.Appended) []*view.Cut {
	if c.shown == nil || c.shown.Cut == nil || c.gaveUp || slices.Contains(c.fresh, c.shown.Cut) {
		return c.fresh
	}
	if cut := c.shown.Cut; cut.Stored() && cut.Covers <= at.Forms.Len()-at.New && c.thread.Kind != thread.New {
		return c.fresh
	}
	return append(c.fresh[:len(c.fresh):len(c.fresh)], c.shown.Cut)
}

// plans are their records.
func (c *Call) plans(cuts []*view.Cut, at *timeline.Appended) (records []timeline.Record, contents [][]byte, err error) {
	for _, cut := range cuts {
		r, more, err := cut.Record(at.Place(int64(cut.Covers)))
		if err != nil {
			return nil, nil, err
		}
		r.Time = c.began
		records, contents = append(records, r), append(contents, more...)
	}
	return records, contents, nil
}

// resent are the messages of a request and of its reply, as a log takes them.
func (c *Call) resent(request, reply []chat.Message) []timeline.Resent {
	out := make([]timeline.Resent, 0, len(request)+len(reply))
	format := c.body.Format.String()
	for _, messages := range [][]chat.Message{request, reply} {
		for i := range messages {
			m := &messages[i]
			out = append(out, timeline.Resent{Raw: m.Raw, Sum: m.Summed(), Format: format, Role: cmp.Or(string(m.Role), m.Type), Time: c.began})
		}
	}
	return out
}

// keepTop keeps what stands beside the history: the system prompt block by block, for
// one of them may be new with every call, the tools, and the other fields.
func (c *Call) keepTop(e *entry, top *contents) {
	for i := range c.body.System {
		if raw := c.body.System[i].Raw; raw != nil {
			e.System = append(e.System, top.keep(raw))
		} else {
			e.System = append(e.System, top.keep(c.body.System[i].Text))
			e.Plain = true
		}
	}
	e.Apart = len(e.System)
	for i := range c.system {
		e.System = append(e.System, top.keep(c.system[i].Raw))
	}
	list, system := "messages", "system"
	if c.body.Format == wire.Responses {
		list, system = "input", "instructions"
	}
	rest := fields{keep: top.keep}
	for _, m := range c.body.Members() {
		switch {
		case m.Name == list, m.Name == system && e.Apart > 0:
		case m.Name == "tools" && e.Tools == "":
			e.Tools = top.keepStripped(m.Raw, &c.calls.bare)
		default:
			rest.add(m.Name, m.Raw)
		}
	}
	e.Rest = rest.json()
}

// partial is what came of a reply that is no part of the history.
func (c *Call) partial(reply []chat.Message) []byte {
	if c.answer == nil || reply != nil {
		return nil
	}
	r := c.answer.reply()
	if len(r.Items) > 0 {
		return append(append([]byte("["), bytes.Join(r.Items, []byte(","))...), ']')
	}
	return r.Message
}
