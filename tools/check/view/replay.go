package view

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/report/quality"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/tools/transcript"
	"github.com/oriel-context/oriel/wire"
)

// replay sends sessions through views of one size.
type replay struct {
	// unnamed means that no session is named, rewrites that the client keeps
	// other words than the model's.
	unnamed, rewrites bool
	// prompts means that what people said is printed.
	prompts bool

	window, prefix int
	profile        string
	recall         *recall.LibraryOptions // nil means no recall
}

// prepare adds to a session what the recording lacks, and converts it to the
// format asked for.
func (r *replay) prepare(s *transcript.Session, as string) (*transcript.Session, error) {
	if s.Format == transcript.Anthropic {
		signed, err := s.Signed()
		if err != nil {
			return nil, err
		}
		s = signed
		if r.prefix > 0 {
			s.System = systemPrompt(r.prefix)
		}
		if as != "" {
			if s, err = s.AsChat(); err != nil {
				return nil, err
			}
		}
	}
	switch as {
	case "", "chat":
		return s, nil
	case "responses":
		return s.AsResponses()
	}
	return nil, fmt.Errorf("format %q: want chat or responses", as)
}

// systemPrompt returns a text of the given number of tokens, as Anthropic's
// models count.
func systemPrompt(tokens int) string {
	c := token.NewCounter(token.Builtin().Lookup("claude-opus-4-5"), token.Options{})
	const rule = "Do what the task asks, and say what you did. "
	return strings.Repeat(rule, tokens*100/c.Text(strings.Repeat(rule, 100)).Tokens)
}

// replayed is one session being replayed.
type replayed struct {
	*replay
	tally   *tally
	format  wire.Format
	book    *thread.Index
	log     *timeline.Log
	library *recall.Library
	viewer  *view.Viewer
	cache   *token.Cache

	last, lastPlain *prompt
	lastView        []byte
	rewritten       map[string][]byte // replies, by their own bytes
	conversations   map[string]bool
}

func (r *replay) session(s *transcript.Session) (*tally, error) {
	store := memory.New()
	p := &replayed{
		replay: r, tally: new(tally), format: kit.Formats[s.Format],
		rewritten: map[string][]byte{}, conversations: map[string]bool{},
		book: thread.NewIndex(store, thread.Options{}), log: timeline.NewLog(store, timeline.LogOptions{}),
		cache: token.NewCache(0),
	}
	if r.recall != nil {
		p.library = recall.NewLibrary(store, *r.recall)
		defer p.library.Close()
	}
	p.viewer = view.New(view.Options{
		Index: p.book, Models: token.Builtin(), Calibration: new(token.Calibration), Cache: p.cache, Recall: p.library,
		RecallWait: 5 * time.Second,
	})
	history := 0
	for call := range s.Requests() {
		if call.History != history {
			history, p.lastView = call.History, nil
			p.tally.histories++
		}
		p.tally.calls++
		if call.At.IsZero() {
			call.At = time.Unix(int64(p.tally.calls), 0)
		}
		if err := p.call(s, call); err != nil {
			return nil, fmt.Errorf("call %d: %w", p.tally.calls, err)
		}
	}
	p.tally.histories++
	p.tally.conversations = len(p.conversations)
	return p.tally, nil
}

func (p *replayed) call(s *transcript.Session, r transcript.Request) error {
	t := p.tally
	b, err := wire.Read(bytes.Clone(r.Body), p.format, wire.Limits{})
	if err != nil {
		return err
	}
	if p.rewrites {
		if b, err = p.rewrite(b); err != nil {
			return err
		}
	}
	began := kit.ProcessorTime()
	_, chain := thread.Chain(b.Messages)
	var hints thread.Hints
	if !p.unnamed {
		hints.Session = s.Name
	}
	th, err := p.book.Find(ctx, &thread.Request{
		Tenant: timeline.Local, Hints: hints, Sketch: thread.SketchOf(thread.Prompt(&b.Request)), Messages: chain,
		Now: r.At,
	})
	if err != nil {
		return err
	}
	res, err := p.viewer.Show(ctx, &view.Input{ID: strconv.Itoa(t.calls), Body: b, Thread: th, Profile: p.profile,
		Budget: p.window, Cold: p.cold(b, r.At), Now: r.At})
	if err != nil {
		return err
	}
	t.times = append(t.times, kit.ProcessorTime()-began)
	p.conversations[th.Conversation] = true
	var reply []chat.Message
	if r.Reply != nil && p.format != wire.Responses {
		m, err := wire.ReadMessage(p.format, r.Reply)
		if err != nil {
			return err
		}
		reply = []chat.Message{m}
	}
	p.book.Done(th, reply, "")
	p.book.Stored(th, true)
	if err := p.remember(b, th, r.At); err != nil {
		return err
	}
	if res.New && res.Recalled > 0 {
		t.recalls++
	}
	if p.prompts && b.Messages[len(b.Messages)-1].Prompts() {
		words := strings.Join(b.Messages[len(b.Messages)-1].Words(), " ")
		fmt.Printf("recalled %5d for %.200q\n", res.Recalled, strings.TrimSpace(words))
	}
	cut := res.New && (res.Folded || res.Cleared)
	if res.After > res.Budget || p.window > 0 && res.After > p.window {
		t.over++
		fmt.Printf("%s call %d: %d tokens\n", s.Name, t.calls, res.After)
	}
	p.judge(s, b.Data(), res.Body)
	if err := p.bill(b, res, r.At, cut); err != nil {
		return err
	}
	if reply == nil {
		return nil
	}
	sent, err := wire.Read(res.Body, p.format, wire.Limits{})
	if err != nil {
		return err
	}
	n := quality.Look(b, sent, reply, res.Cut != nil, nil)
	t.quality.Add(&n)
	return nil
}

// cold reports whether the provider's cache has lost the last call.
func (p *replayed) cold(b *wire.Body, now time.Time) bool {
	return p.last != nil && (now.Sub(p.last.At) >= lifetime || b.Model != p.last.Model)
}

// remember stores what was sent, for recall.
func (p *replayed) remember(b *wire.Body, th *thread.Thread, now time.Time) error {
	if p.library == nil {
		return nil
	}
	_, chain := thread.Chain(b.Messages)
	all := make([]timeline.Resent, len(chain))
	for i := range chain {
		all[i] = timeline.Resent{Raw: chain[i].Raw, Format: b.Format.String(), Role: string(chain[i].Role)}
	}
	if _, err := p.log.Append(ctx, timeline.Local, th.Conversation, all,
		func(i int) timeline.Hash { return th.Identities[i] }, timeline.Change{Now: now}); err != nil {
		return err
	}
	return p.library.Wait(ctx)
}

// judge checks a view against the provider's rules. If the original body
// breaks them, the view may break them in the same way but in no other.
func (p *replayed) judge(s *transcript.Session, came, sent []byte) {
	problems, cameBroken := kit.JudgeView(p.format, came, sent)
	if cameBroken {
		p.tally.came++
	}
	if len(problems) > 0 {
		p.tally.invalid++
		fmt.Printf("%s call %d: %v\n", s.Name, p.tally.calls, problems)
	}
}

// bill adds the cost of a call and of its view.
func (p *replayed) bill(b *wire.Body, res *view.Result, at time.Time, cut bool) error {
	t := p.tally
	counter := token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{Cache: p.cache})
	plain, err := newPrompt(b.Data(), p.format, counter, at)
	if err != nil {
		return err
	}
	shown, err := newPrompt(res.Body, p.format, counter, at)
	if err != nil {
		return err
	}
	fresh := min(beyond(plain, p.lastPlain), shown.Tokens())
	if cut {
		t.cuts++
		t.kept, t.after = t.kept+shown.Tokens()-beyond(shown, p.last), t.after+shown.Tokens()
	}
	t.view.add(shown, p.last, fresh)
	t.floor.free(shown, p.last, fresh)
	t.plain.add(plain, p.lastPlain, fresh)
	t.shown, t.whole = t.shown+shown.Tokens(), t.whole+plain.Tokens()
	if p.lastView != nil && !cut {
		t.stable = append(t.stable, common(p.lastView, res.Body))
	}
	p.last, p.lastPlain, p.lastView = shown, plain, res.Body
	return nil
}

// common returns the share of a body that the next one begins with, ignoring
// what follows the last message.
func common(before, after []byte) float64 {
	n := 0
	for n < len(before) && n < len(after) && before[n] == after[n] {
		n++
	}
	end := len(before) - len(`],"stream":true}`)
	return min(1, float64(n)/float64(end))
}
