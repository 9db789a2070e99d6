package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

const (
	// kindDigest is the kind of the record of a digest; its key is stateKey.
	kindDigest = "digest"
	// maxWaiting is the most items that wait for a view before they are folded into the
	// digest without one.
	maxWaiting = 64
	// leastDigest and mostDigest bound a digest, in tokens; between them it has an eighth
	// of the window.
	leastDigest, mostDigest = 64, 1024
	// sinceThen separates a model's summary from the digest of what left after it.
	sinceThen = "\n\nSince then:\n"
)

// digest stands in views for the items that have left the window since the last Clear
// (SPEC D7). It changes only when a view is made after something left, so that it has the
// same bytes until then. What it costs follows the window, not the history: it is extended
// by what left, never made anew.
type digest struct {
	// Body is the text in views, Kind its kind in the marker, Of the number of items that
	// it stands for.
	Body string `json:"body"`
	Kind string `json:"kind"`
	Of   int    `json:"of"`
	// Model is the newest summary by a model, Rules a digest of what left after it. The
	// next Body is made of both.
	Model string `json:"model,omitempty"`
	Rules string `json:"rules,omitempty"`
	// Covers are the items of Model and Rules, as ranges.
	Covers string `json:"covers"`
	// Cleared is that of the state; a digest of before a Clear is not used.
	Cleared int64 `json:"cleared,omitempty"`
	// Omitted names the dismissed directives that it leaves out.
	Omitted string `json:"omitted,omitempty"`
}

// folding is the digest of a loaded conversation.
type folding struct {
	digest
	covers timeline.Ranges
	// waits are items that have left and are not covered; waiting is their size. due
	// reports that one of them left after Body was made.
	waits   timeline.Ranges
	waiting int
	due     bool
	// changed reports that the record is to be stored.
	changed bool
	// job asks a model for a summary once the change is stored; nil if there is none.
	job *summaryJob
}

// summaryJob is a summary that a model is asked to write; covers are the items that it is about.
type summaryJob struct {
	in      condense.Input
	covers  timeline.Ranges
	cleared int64
	before  int // tokens
	items   int // of in.Messages
}

// leave notes items that have left the window.
func (f *folding) leave(out []items.Item, cleared int64) {
	var ids timeline.Ranges
	for i := range out {
		if id := out[i].ID; id > cleared && !f.covers.Has(int(id)) && !f.waits.Has(int(id)) {
			ids.Add(int(id))
			f.waiting += out[i].Tokens
		}
	}
	f.waits = f.waits.Union(ids)
	f.due = f.due || len(ids) > 0
}

// come notes items that are in view again; their ids rise.
func (f *folding) come(ids []int64) { f.waits = f.waits.Minus(timeline.RangesOf(ids)) }

// mostDigest returns the most tokens of a digest by rules, and of a model's summary.
func (p *loaded) mostDigest() int {
	limit, _ := p.window.Limits()
	return min(max(limit/8, leastDigest), mostDigest)
}

// fold extends the digest by what has left since it was made, if anything has. A dismissed
// directive leaves it, too.
func (p *loaded) fold(ctx context.Context) error {
	f := &p.folding
	if !f.due && f.Body == "" {
		return nil
	}
	dismissed, err := p.dismissedHere(ctx)
	if err != nil {
		return err
	}
	var omitted string
	for i := range dismissed {
		omitted += dismissed[i].Key + " "
	}
	if !f.due && omitted == f.Omitted {
		return nil
	}
	omit, err := p.sentencesOf(ctx, dismissed)
	if err != nil {
		return err
	}
	said, ids, err := p.waitingMessages(ctx)
	if err != nil {
		return err
	}
	p.touch()
	f.changed, f.due, f.Omitted = true, false, omitted
	f.Model, f.Rules = f.without(omit)
	before := withRules(f.Model, f.Rules)
	in := condense.Input{Messages: said, Previous: f.Rules, Max: p.mostDigest(), Count: p.engine.config.Count,
		Omit: omit}
	if f.Model != "" {
		in.Max /= 2
	}
	out, err := condense.Digest{}.Condense(ctx, in)
	if err != nil {
		return err
	}
	if f.Body == "" && in.Count(out.Text)*10 > size(in)*9 && f.waits.Len() < maxWaiting {
		f.waiting = 0
		return nil // a few words: they wait for more
	}
	f.Rules = out.Text
	f.covers, f.waits, f.waiting = f.covers.Union(ids), nil, 0
	f.show()
	if len(said) > 0 {
		in.Previous, in.Max = before, p.mostDigest()
		f.job = &summaryJob{in: in, covers: f.covers, cleared: p.cleared, before: size(in), items: ids.Len()}
	}
	return nil
}

// size returns the tokens of what is condensed.
func size(in condense.Input) int {
	n := in.Count(in.Previous)
	for i := range in.Messages {
		for j := range in.Messages[i].Parts {
			n += in.Count(in.Messages[i].Parts[j].Text.String())
		}
	}
	return n
}

// withRules returns a model's summary with the digest of what left after it.
func withRules(model, rules string) string {
	if model != "" && rules != "" {
		return model + sinceThen + rules
	}
	return model + rules
}

// show makes the text in views from Model and Rules. What a model wrote may look like
// entries of a view.
func (f *folding) show() {
	f.Body, f.Of, f.Kind = withRules(quote.Disarm(f.Model), f.Rules), f.covers.Len(), condense.KindDigest
	if f.Model != "" {
		f.Kind = condense.KindSummary
	}
}

// without returns Model and Rules as they may be extended: a model's summary that has a
// sentence which no longer holds becomes a part of the digest, which leaves it out.
func (f *folding) without(omit []string) (model, rules string) {
	words := singleSpaced(f.Model)
	if slices.ContainsFunc(omit, func(s string) bool { return strings.Contains(words, singleSpaced(s)) }) {
		return "", strings.TrimSpace(f.Model + "\n\n" + f.Rules)
	}
	return f.Model, f.Rules
}

// dismissedHere returns the notes on directives that were dismissed or edited.
func (p *loaded) dismissedHere(ctx context.Context) ([]timeline.Pin, error) {
	all, err := p.notes().Dismissed(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	notes := make([]timeline.Pin, len(all))
	for i := range all {
		notes[i] = all[i].Pin
	}
	return p.here(ctx, notes, 0)
}

// sentencesOf returns the directives of items.
func (p *loaded) sentencesOf(ctx context.Context, notes []timeline.Pin) (said []string, err error) {
	for i := range notes {
		it, err := p.item(ctx, notes[i].ID)
		if err != nil {
			return nil, err
		}
		for _, d := range recall.Detect(it.Whole()) {
			said = append(said, d.Text)
		}
	}
	return said, nil
}

// waitingMessages reads the items that wait, as messages in the order of time. It reads
// about as much as the window has room for, the newest first; ids are those that it read.
func (p *loaded) waitingMessages(ctx context.Context) (said []chat.Message, ids timeline.Ranges, err error) {
	limit, _ := p.window.Limits()
	var all []items.Item // newest first
	tokens := 0
	for _, r := range slices.Backward(p.folding.waits) {
		for last := int64(r[1]); last >= int64(r[0]) && tokens <= 2*limit; last -= readAcross {
			read, err := p.read(ctx, max(int64(r[0]), last-readAcross+1), last)
			if err != nil {
				return nil, nil, err
			}
			for _, e := range slices.Backward(read) {
				if e.shown {
					all = append(all, e.Item)
					tokens += e.Tokens
				}
			}
		}
	}
	for i := range slices.Backward(all) {
		said = append(said, spoken(&all[i])...)
		ids.Add(int(all[i].ID))
	}
	return said, ids, nil
}

// spoken returns an item as messages that package condense reads. What failed is a call
// with its result; the output of other tools, and files, are results alone.
func spoken(it *items.Item) []chat.Message {
	text := chat.Part{Kind: chat.Text, Type: "text", Text: chat.Quote(it.Whole())}
	switch it.Source {
	case items.SourceUser:
		return []chat.Message{{Role: chat.User, Parts: []chat.Part{text}}}
	case items.SourceAssistant:
		return []chat.Message{{Role: chat.Assistant, Parts: []chat.Part{text}}}
	case items.SourceSystem:
		return []chat.Message{{Role: chat.System, Parts: []chat.Part{text}}}
	}
	result := chat.Part{Kind: chat.Result, ID: itemKey(it.ID), Text: text.Text, IsError: it.Failed ||
		it.Source == items.SourceError}
	out := []chat.Message{{Role: chat.Tool, Parts: []chat.Part{result}}}
	if result.IsError {
		call := chat.Part{Kind: chat.Call, ID: result.ID, Name: string(it.Source), Args: []byte("{}")}
		out = slices.Insert(out, 0, chat.Message{Role: chat.Assistant, Parts: []chat.Part{call}})
	}
	return out
}

// older begins a digest of a history that has none: the newest items that are not in the
// window wait, as if they had just left it.
func (p *loaded) older() {
	shown := make([]int64, 0, p.window.Len())
	for it := range p.window.All() {
		shown = append(shown, it.ID)
	}
	p.folding = folding{}
	if from, last := max(p.cleared+1, p.last()-int64(maxWaiting+len(shown))+1, 1), p.last(); from <= last {
		p.folding.waits = timeline.Ranges{{int(from), int(last)}}.Minus(timeline.RangesOf(shown))
		p.folding.due = len(p.folding.waits) > 0
	}
}

// skip has the items before an item wait that never were in the window.
func (p *loaded) skip(first int64) {
	if from := max(p.cleared+1, first-maxWaiting, 1); from < first {
		f := &p.folding
		f.waits, f.due = f.waits.Union(timeline.Ranges{{int(from), int(first) - 1}}.Minus(f.covers)), true
	}
}

// readDigest reads the digest that belongs to a state, if the state knows of digests.
func (p *loaded) readDigest(ctx context.Context, s *savedState) error {
	if !s.Digest {
		return nil
	}
	records, err := p.engine.store.Records(ctx, p.tenant, p.id, kindDigest, stateKey)
	if err != nil {
		return err
	}
	f := &p.folding
	if len(records) > 0 {
		err = json.Unmarshal(records[0].Data, &f.digest)
	}
	if f.Cleared != p.cleared {
		f.digest = digest{Cleared: p.cleared}
	}
	if err == nil {
		f.covers, err = timeline.ParseRanges(f.Covers)
	}
	if err == nil {
		f.waits, err = timeline.ParseRanges(s.Waits)
	}
	if err != nil {
		return fmt.Errorf("%w: digest: %w", timeline.ErrDamaged, err)
	}
	f.waiting, f.due = s.Waiting, s.Due
	return nil
}

// saveDigest adds the digest to the change if it has changed.
func (p *loaded) saveDigest() error {
	f := &p.folding
	if !f.changed {
		return nil
	}
	f.changed, f.Covers, f.Cleared = false, f.covers.String(), p.cleared
	return p.putJSON(kindDigest, stateKey, f.digest)
}
