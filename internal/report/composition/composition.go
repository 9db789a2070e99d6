package composition

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Options say how is counted.
type Options struct {
	// Models is the model table. Default: the built-in one.
	Models *token.Models
	// Calibration corrects counts. Default: none.
	Calibration *token.Calibration
	// Largest is how many single things are listed. Default 10.
	Largest int
}

// Window is what a call was sent with. Its JSON form is that of oriel context --json.
type Window struct {
	Conversation string `json:"conversation"`
	// Call is the number of the call in the conversation, from 1 on.
	Call int `json:"call"`
	// ID identifies the call in logs.
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Model   string    `json:"model"`
	Profile string    `json:"profile,omitempty"`
	// Window is the window of the model; 0 if it is not known.
	Window int `json:"window"`
	// Limit is what the call could have at most.
	Limit int `json:"limit,omitempty"`
	// Budget is what the profile wants.
	Budget int `json:"budget,omitempty"`
	// Tokens is the sum of Kinds without what is free.
	Tokens int `json:"tokens"`
	// Reported is the provider's count; 0 if it reported none.
	Reported int `json:"reported,omitempty"`
	// Accuracy is how sure the counts are.
	Accuracy token.Accuracy `json:"accuracy"`
	// LeftOut are the tokens of the request as it came that were not sent.
	LeftOut int `json:"left_out"`
	// Kinds are the kinds that there are, in the order of the constants, each once for
	// every name.
	Kinds []Share `json:"kinds"`
	// Largest are the largest single things: a tool's definition, a message's part.
	Largest []Thing `json:"largest"`
	// Unused are the tools that were sent with every call that had tools, up to this one, and never
	// called.
	Unused []Tool `json:"unused"`
	// UnusedCalls is how many calls that were.
	UnusedCalls int `json:"unused_calls"`
}

// Share is how much of the window something takes.
type Share struct {
	Kind Kind `json:"kind"`
	// Name is the MCP server, the tool or the file; empty for none.
	Name   string `json:"name,omitempty"`
	Count  int    `json:"count,omitempty"`
	Tokens int    `json:"tokens"`
	// Share is the share of the model's window, from 0 to 1.
	Share float64 `json:"share"`
}

// Thing is one part of a request.
type Thing struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"`
	// ID is that of the message; 0 for none.
	ID     int64   `json:"id,omitempty"`
	Tokens int     `json:"tokens"`
	Share  float64 `json:"share"`
	// Text is how it begins.
	Text string `json:"text,omitempty"`
}

// Tool is a tool's definition.
type Tool struct {
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
	Tokens int    `json:"tokens"`
}

func (o *Options) complete() {
	if o.Models == nil {
		o.Models = token.Builtin()
	}
	if o.Calibration == nil {
		o.Calibration = new(token.Calibration)
	}
	o.Largest = cmp.Or(o.Largest, 10)
}

// numberOf returns the index of a call, or -1, and its number among the calls of the
// conversation, which are numbered in the order in which they began.
func numberOf(records []timeline.Record, id string) (at, number int, err error) {
	at = slices.IndexFunc(records, func(r timeline.Record) bool { return r.Key == id })
	if at < 0 {
		return at, 0, nil
	}
	own, err := call.Decode(&records[at])
	if err != nil {
		return at, 0, err
	}
	number = 1
	for i := range records {
		c, err := call.Decode(&records[i])
		if err != nil {
			return at, 0, err
		}
		if order := c.Began.Compare(own.Began); order < 0 || order == 0 && i < at {
			number++
		}
	}
	return at, number, nil
}

// Read reads a recorded call by its id.
func Read(ctx context.Context, store timeline.Store, tenant, conversation, id string, o Options) (*Window, error) {
	o.complete()
	records, err := store.Records(ctx, tenant, conversation, "call", "")
	if err != nil {
		return nil, err
	}
	records = slices.DeleteFunc(records,
		func(r timeline.Record) bool { return strings.HasPrefix(r.Key, usage.Imported) })
	at, number, err := numberOf(records, id)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, fmt.Errorf("conversation %q has no call %q", conversation, id)
	}
	stored, b, pieces, err := readPieces(ctx, store, tenant, conversation, &records[at], &o)
	if err != nil {
		return nil, err
	}
	model := o.Models.Lookup(stored.Model)
	w := &Window{
		Conversation: conversation, ID: id, Call: number, Time: stored.Began.UTC(), Model: stored.Model,
		Profile: stored.Profile,
		Window:  windowOf(&model, max(stored.Hard, b.Total)), Limit: stored.Hard, Budget: stored.Wish, Tokens: b.Total,
		Accuracy: b.Accuracy,
		LeftOut:  max(0, stored.Came-stored.Tokens),
	}
	if u := stored.Usage; u != nil {
		w.Reported = usage.OfProvider(u).Prompt()
	}
	w.share(pieces)
	w.largest(pieces, o.Largest)
	return w, w.unused(ctx, store, tenant, records[:at+1], stored, pieces)
}

// readPieces reads the record of a call and takes what was sent to pieces, whose tokens add
// up to the total of the breakdown.
func readPieces(ctx context.Context, store timeline.Store, tenant, conversation string, record *timeline.Record,
	o *Options) (*call.Stored, token.Breakdown, []piece, error) {
	stored, sent, err := call.ReadSent(ctx, store, tenant, conversation, record, call.SentOptions{Models: o.Models})
	if err != nil {
		return nil, token.Breakdown{}, nil, err
	}
	body, err := stored.ReadBody(sent)
	if err != nil {
		return nil, token.Breakdown{}, nil, err
	}
	counter := token.NewCounter(o.Models.Lookup(stored.Model),
		token.Options{Scale: o.Calibration.Scale(token.LearntKey(tenant, stored.Model))})
	b := counter.Request(&body.Request)
	return stored, b, decompose(&body.Request, counter, b, stored.SentIDs), nil
}

// windowOf returns the window of a model that accepted so many tokens: headers, which are
// not recorded, may widen it.
func windowOf(m *token.Model, accepted int) int {
	window := m.Window
	for _, wide := range m.Widen {
		if accepted > window {
			window = max(window, wide.Window)
		}
	}
	return window
}

// order is that of Kinds.
var order = []Kind{System, Tools, Memory, Agent, People, Model, Thinking, Calls, Results, Media, Digest, Recalled,
	Notes, Other, Overhead, Free}

func (w *Window) of(tokens int) float64 { return float64(tokens) / float64(max(1, w.Window)) }

// share adds up pieces by kind and name.
func (w *Window) share(pieces []piece) {
	type key struct {
		kind Kind
		name string
	}
	sums := map[key]*Share{}
	for i := range pieces {
		p := &pieces[i]
		k := key{p.kind, p.group}
		if sums[k] == nil {
			sums[k] = &Share{Kind: p.kind, Name: p.group}
		}
		sums[k].Count++
		sums[k].Tokens += p.tokens
	}
	for _, s := range sums {
		if s.Tokens > 0 {
			s.Share = w.of(s.Tokens)
			w.Kinds = append(w.Kinds, *s)
		}
	}
	if free := w.Window - w.Tokens; free > 0 {
		w.Kinds = append(w.Kinds, Share{Kind: Free, Tokens: free, Share: w.of(free)})
	}
	slices.SortFunc(w.Kinds, func(a, b Share) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
	})
}

// largest lists the largest pieces.
func (w *Window) largest(pieces []piece, most int) {
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b piece) int { return cmp.Compare(b.tokens, a.tokens) })
	w.Largest = []Thing{}
	for _, p := range sorted {
		if len(w.Largest) == most || p.tokens == 0 {
			break
		}
		if p.kind != Overhead {
			w.Largest = append(w.Largest, Thing{Kind: p.kind, Name: cmp.Or(p.name, p.group), ID: p.id, Tokens: p.tokens,
				Share: w.of(p.tokens), Text: p.text})
		}
	}
}

// unused lists the tools that were sent with every call and never called: records are the
// calls up to this one, whose request, as it came, has all calls of tools.
func (w *Window) unused(ctx context.Context, store timeline.Store, tenant string, records []timeline.Record,
	stored *call.Stored, pieces []piece) error {
	w.Unused = []Tool{}
	came, err := stored.ReadBody(stored.Body)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	usedTools(came.Messages, used)
	always, err := w.always(ctx, store, tenant, records)
	if err != nil {
		return err
	}
	for i := range pieces {
		p := &pieces[i]
		if p.kind == Tools && p.name != "" && !used[p.name] && always[p.name] {
			w.Unused = append(w.Unused, Tool{Name: p.name, Server: p.group, Tokens: p.tokens})
		}
	}
	slices.SortStableFunc(w.Unused, func(a, b Tool) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return nil
}

// usedTools adds the names of the tools that messages call.
func usedTools(messages []chat.Message, used map[string]bool) {
	for i := range messages {
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.Kind == chat.Call {
				used[p.Name] = true
			}
		}
	}
}

// always returns the names of the tools that all calls have that have any.
func (w *Window) always(ctx context.Context, store timeline.Store, tenant string,
	records []timeline.Record) (map[string]bool, error) {
	var all map[string]bool
	seen := map[string]bool{}
	for i := range records {
		c, err := call.Decode(&records[i])
		if err != nil {
			return nil, err
		}
		if c.Tools == "" {
			continue
		}
		w.UnusedCalls++
		if seen[c.Tools] {
			continue
		}
		seen[c.Tools] = true
		names, err := toolNames(ctx, store, tenant, c.Tools)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = names
		}
		for name := range all {
			if !names[name] {
				delete(all, name)
			}
		}
	}
	return all, nil
}

func toolNames(ctx context.Context, store timeline.Store, tenant, content string) (map[string]bool, error) {
	h, err := timeline.ParseHash(content)
	if err != nil {
		return nil, err
	}
	raw, err := store.Content(ctx, tenant, h)
	if err != nil {
		return nil, err
	}
	var list []struct {
		Name     string
		Type     string
		Function struct{ Name string }
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read the tools of a call: %w", err)
	}
	names := map[string]bool{}
	for _, t := range list {
		names[cmp.Or(t.Name, t.Function.Name, t.Type)] = true
	}
	return names, nil
}
