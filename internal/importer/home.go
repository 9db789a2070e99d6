package importer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
)

// A session that Oriel has recorded is imported into the conversation where it was recorded,
// as a branch: what was recorded stays the main line. Agents that name their sessions on the
// wire record them under that name. The sessions of others are recognised by their content.

// callsKind and callsKey are those of the record that only conversations of calls have; see
// package internal/thread.
const callsKind, callsKey = "thread", "who"

// wasRecorded reports whether a conversation has calls that Oriel recorded.
func (im *importing) wasRecorded(ctx context.Context, name string) (bool, error) {
	r, err := im.store.Records(ctx, im.options.Tenant, name, callsKind, callsKey)
	if errors.Is(err, timeline.ErrNoConversation) {
		return false, nil
	}
	return len(r) > 0, err
}

// evidence is what identifies a session: the ids of its tool calls, and hashes of what people
// and the model said.
type evidence struct {
	calls, said, asked map[string]bool
	first, last        time.Time
}

func newEvidence() *evidence {
	return &evidence{calls: map[string]bool{}, said: map[string]bool{}, asked: map[string]bool{}}
}

// leastSaid is the fewest bytes of a text that says something about whose it is, and
// mostSaid how many of it are compared.
const leastSaid, mostSaid = 16, 512

// add adds a message.
func (e *evidence) add(m *timeline.Message) {
	c, err := m.Chat()
	if err != nil {
		return
	}
	if e.first.IsZero() || m.Time.Before(e.first) {
		e.first = m.Time
	}
	if m.Time.After(e.last) {
		e.last = m.Time
	}
	for i, words := range c.Words() {
		e.text(e.asked, words)
		if p := &c.Parts[i]; p.Kind == chat.Call && p.ID != "" {
			e.calls[p.ID] = true
		} else if p.Kind == chat.Text && c.Role == chat.Assistant {
			e.text(e.said, p.Text.String())
		}
	}
}

func (e *evidence) text(to map[string]bool, text string) {
	if words := strings.Join(strings.Fields(text), " "); len(words) >= leastSaid {
		to[strings.Clone(words[:min(len(words), mostSaid)])] = true
	}
}

// Limits of what makes two histories the same session.
const (
	leastCalls = 2                // tool calls in common
	leastTexts = 3                // or texts, and one call if both have any
	sessionGap = 10 * time.Minute // between the clocks of an agent and of Oriel
)

// like returns how much a session has in common with a recorded conversation, 0 if it is
// another one. Both must have something that a person said in common: some models number
// their calls.
func (e *evidence) like(o *evidence) int {
	calls, asked := common(e.calls, o.calls), max(within(e.asked, o.asked), within(o.asked, e.asked))
	texts := asked + common(e.said, o.said)
	few := calls < leastCalls || texts < 2 && !e.drawn(o)
	if asked == 0 || few && (texts < leastTexts || calls == 0 && len(e.calls) > 0 && len(o.calls) > 0) {
		return 0
	}
	return calls + texts
}

// drawn reports whether calls in common have ids that were drawn at random. Those of a model
// that numbers its calls are in all its sessions.
func (e *evidence) drawn(o *evidence) bool {
	n := 0
	for id := range e.calls {
		changes := 0
		for i := 1; i < len(id); i++ {
			if isDigit(id[i]) != isDigit(id[i-1]) && id[i] != '_' && id[i-1] != '_' {
				changes++
			}
		}
		if o.calls[id] && len(id) >= 10 && changes >= 3 {
			n++
		}
	}
	return n >= leastCalls
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func common(a, b map[string]bool) (n int) {
	for s := range a {
		if b[s] {
			n++
		}
	}
	return n
}

// within counts the texts that are in one of the others: agents send a question and a file
// in one text or in two.
func within(texts, others map[string]bool) (n int) {
	all := strings.Join(slices.Collect(maps.Keys(others)), "\x00")
	for s := range texts {
		if others[s] || strings.Contains(all, s) {
			n++
		}
	}
	return n
}

// recordedSession is a conversation of calls.
type recordedSession struct {
	timeline.Conversation
	evidence *evidence // nil until it is read
}

// recordings returns the conversations that Oriel recorded.
func (im *importing) recordings(ctx context.Context) ([]*recordedSession, error) {
	if im.recorded != nil {
		return im.recorded, nil
	}
	im.recorded = []*recordedSession{}
	all, err := im.store.Conversations(ctx, im.options.Tenant)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		is, err := im.wasRecorded(ctx, c.Name)
		if err != nil {
			return nil, err
		}
		if is {
			im.recorded = append(im.recorded, &recordedSession{Conversation: c})
		}
	}
	return im.recorded, nil
}

// homes returns the names of the recorded conversations of a file's sessions, for those that
// were recorded under another name than their own. Under their own name a title or another
// call beside the session may be recorded.
func (im *importing) homes(ctx context.Context, s *source) (map[string]string, error) {
	if im.options.Conversation != "" || !s.kind.format.isSession() {
		return nil, nil
	}
	all, err := im.recordings(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	read := &evidences{of: map[string]*evidence{}}
	if err := s.read(ctx, read, func(int64) {}); err != nil {
		return nil, err
	}
	homes := map[string]string{}
	for name, e := range read.of {
		best := 0
		for _, r := range all {
			if r.Created.After(e.last.Add(sessionGap)) || r.Updated.Before(e.first.Add(-sessionGap)) {
				continue
			}
			if r.evidence == nil {
				if r.evidence, err = im.evidenceOf(ctx, r.Head); err != nil {
					return nil, err
				}
			}
			if n := e.like(r.evidence); n > best || n == best && n > 0 && r.Name == name {
				best, homes[name] = n, r.Name
			}
		}
		if homes[name] == name {
			delete(homes, name)
		}
	}
	return homes, nil
}

// evidenceOf reads the messages up to a place.
func (im *importing) evidenceOf(ctx context.Context, to timeline.Place) (*evidence, error) {
	e := newEvidence()
	err := im.store.Messages(ctx, im.options.Tenant, to, 1, to.Depth, false, func(m *timeline.Entry) error {
		e.add(&m.Message)
		return nil
	})
	return e, err
}

// evidences collects the evidence of each conversation of a file.
type evidences struct{ of map[string]*evidence }

func (v *evidences) begin(_ context.Context, conversation, _ string) error {
	if v.of[conversation] == nil {
		v.of[conversation] = newEvidence()
	}
	return nil
}

func (v *evidences) take(ctx context.Context, conversation string, m timeline.Message) error {
	v.begin(ctx, conversation, "")
	v.of[conversation].add(&m)
	return nil
}
func (v *evidences) title(string, string)                     {}
func (v *evidences) call(context.Context, string, call) error { return nil }
func (v *evidences) broken(int, string)                       {}

// noteKinds are the kinds of records that people and calls attach to a conversation.
var noteKinds = []string{
	callsKind, "call", "cut", "state",
	timeline.KindPin, timeline.KindDismissed, timeline.KindHold, timeline.KindPlan, timeline.KindPrivate,
	timeline.KindSize,
}

// forget deletes the copy of a session that was imported under its own name before it was
// recorded, unless somebody has attached something to it, or it has messages that its home
// does not contain.
func (im *importing) forget(ctx context.Context, name, home string) error {
	c, err := im.store.Conversation(ctx, im.options.Tenant, name)
	if errors.Is(err, timeline.ErrNoConversation) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, kind := range noteKinds {
		if r, err := im.store.Records(ctx, im.options.Tenant, name, kind, ""); err != nil || len(r) > 0 {
			return err
		}
	}
	if all, err := im.contains(ctx, home, name); err != nil || !all {
		return err
	}
	_, err = im.store.Delete(ctx, im.options.Tenant, name, &c.Revision)
	if errors.Is(err, timeline.ErrChanged) || errors.Is(err, timeline.ErrNoConversation) {
		return nil
	}
	return err
}

// contains reports whether a conversation has all the messages of another.
func (im *importing) contains(ctx context.Context, name, other string) (bool, error) {
	in, err := im.store.Heads(ctx, im.options.Tenant, name)
	if err != nil {
		return false, err
	}
	heads, err := im.store.Heads(ctx, im.options.Tenant, other)
	if err != nil {
		return false, err
	}
	for _, head := range heads {
		found := false
		for i := 0; i < len(in) && !found; i++ {
			if found, err = timeline.Passes(ctx, im.store, im.options.Tenant, in[i], head); err != nil {
				return false, err
			}
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}

var _ taker = (*evidences)(nil)
