package thread

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/script"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// TestScripts runs testdata/*.txt: what clients send, and which conversations that is.
//
//	call A session=s user=u group=g system=x previous=r held retry : u1 a1 u2
//	reply A a2        the model says a2, and A has ended
//	fail A            A has ended without a reply
//	restart           a new process over what was stored
//
// A message is a word that begins with its role: u(ser), a(ssistant), r(esult of a
// tool), s(ystem). Two words are the same message up to a mark: ' has other bytes (a
// cache mark), * also thinking, + the text in two parts, ^ a marker of Oriel's beside it,
// _ white space around its text, # a text of Oriel's in its place or in the place of its middle, ~
// a note of the client in place of a
// result. Others are what clients
// make of a reply: - cut off, ! annotated, < in tags, = with other text around its call.
// "sum…" is a user's message that sums up, "sumshort…" in few words, "uasks…" asks for that,
// "atold…" is the long answer, and "utold…" and "apast…" are what clients make of the answer with
// that number; one that begins with "ulong" or "along" is
// long, one that begins with "ashort" is "Ok.", and "w" before a user's message wraps it in a
// document. A tool call has the number
// of its word as its id, or an id that nobody else has if its word begins with "acallid";
// one of "aslong" has long arguments. A word with "think" is reasoning alone.
// What comes out is the conversation of each call, how it stands to it and how many messages were
// known; then, where the client left something out, which
// of its messages are the first of the history, and from which on they are in one row
// behind how many others; "stays" where the conversation's end stays elsewhere,
// "again" where a trimmed request is sent again.
//
// SPEC D1; the identities that a proxy goes by.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T, in string) string {
		s := newPlay(t)
		var out strings.Builder
		for _, line := range strings.Split(in, "\n") {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				out.WriteString(s.do(line))
			}
		}
		return out.String()
	})
}

var ctx = context.Background()

// play is a proxy without a wire: it finds, answers and stores.
type play struct {
	t     *testing.T
	store timeline.Store
	log   *timeline.Log
	book  *Index
	now   time.Time
	names int
	calls map[string]*playCall
}

type playCall struct {
	*Thread
	messages []chat.Message
}

func newPlay(t *testing.T) *play {
	s := &play{t: t, store: memory.New(), now: time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC),
		calls: map[string]*playCall{}}
	s.restart()
	return s
}

func (s *play) restart() {
	s.log = timeline.NewLog(s.store, timeline.LogOptions{})
	s.book = NewIndex(s.store, Options{Suffix: func() string { s.names++; return fmt.Sprint(s.names) }})
}

func (s *play) do(line string) string {
	s.t.Helper()
	words := strings.Fields(line)
	s.now = s.now.Add(time.Second)
	switch words[0] {
	case "restart":
		s.restart()
		return ""
	case "call":
		return s.call(words[1], words[2:])
	case "reply":
		s.reply(words[1], words[2:])
		return ""
	case "fail":
		s.end(words[1], nil, "")
		return ""
	}
	s.t.Fatalf("what is %q?", line)
	return ""
}

func (s *play) call(name string, words []string) string {
	s.t.Helper()
	r := &Request{Tenant: timeline.Local, Now: s.now}
	for len(words) > 0 && words[0] != ":" {
		key, value, _ := strings.Cut(words[0], "=")
		switch key {
		case "session":
			r.Hints.Session = value
		case "user":
			r.Hints.User = value
		case "system":
			r.Sketch = SketchOf([]chat.Part{{Kind: chat.Text, Text: chat.Quote(prompt(value, s.now))}})
		case "previous":
			r.Previous = value
		case "group":
			r.Hints.Group = value
		case "held":
			r.Held = true
		case "retry":
			r.Retry = true
		case "tenant":
			r.Tenant = value
		default:
			s.t.Fatalf("what is %q?", words[0])
		}
		words = words[1:]
	}
	r.Messages = s.messages(words[1:])
	th, err := s.book.Find(ctx, r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.calls[name] = &playCall{th, r.Messages}
	out := fmt.Sprintf("%s: %s %s, %d of %d known", name, th.Conversation, th.Kind, th.Known, len(r.Messages))
	if th.Kind == Compacted {
		out += ", continues " + th.Continues
	}
	if th.From > 0 || len(th.Before) > 0 {
		out += fmt.Sprintf(", %d first, from %d behind %d", th.Head, th.From, len(th.Before))
	}
	if th.Stay {
		out += ", stays"
	}
	if th.Again {
		out += ", again"
	}
	if want := len(th.Before) + len(r.Messages) - th.From; th.Depth() != want ||
		len(th.Identities) != len(r.Messages)-th.From {
		s.t.Errorf("%s: depth %d and %d identities, want %d", name, th.Depth(), len(th.Identities), want)
	}
	return out + "\n"
}

// prompt is a long system prompt with the time in it.
func prompt(name string, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "nonce=%x date %v\n", now.UnixNano()*7919, now)
	for i := range 60 {
		fmt.Fprintf(&b, "%s%d is what %s does about %s. ", name, i, name, name)
	}
	return b.String()
}

func (s *play) reply(name string, words []string) {
	id := ""
	if strings.HasPrefix(words[0], "id=") {
		id, words = words[0][3:], words[1:]
	}
	s.end(name, s.messages(words), id)
}

// end does what the engine does.
func (s *play) end(name string, reply []chat.Message, id string) {
	s.t.Helper()
	c := s.calls[name]
	says := s.book.Done(c.Thread, reply, id)
	change := timeline.Change{Now: s.now, Stay: c.Stay, Continues: c.Continues}
	if w, ok := c.Record(); ok {
		change.Put = []timeline.Record{w}
	}
	all := append(c.messages[c.From:len(c.messages):len(c.messages)], reply...)
	identities := append(c.Identities[:len(c.Identities):len(c.Identities)], says...)
	sent := resent(all)
	for _, i := range c.Echoes {
		sent[i-c.From].Ref = "reply"
	}
	for i := len(all) - len(reply); i < len(all); i++ {
		sent[i].Ref = "reply"
	}
	_, err := s.log.AppendAfter(ctx, c.Tenant, c.Conversation, c.Before, sent,
		func(i int) timeline.Hash { return identities[i] }, change)
	if err != nil {
		s.t.Fatal(err)
	}
	s.book.Stored(c.Thread, true)
}

// told is what a model answers that is asked to sum up.
func told(n string) string {
	return "<analysis>\nThe user and the model did much.\n</analysis>\n\n## What was done, " + n + "\n" +
		strings.Repeat("- The harbour of "+n+" was read and mended, and its tests pass.\n", 1) +
		"- What is left of " + n +
		": the quay, of which the model was to write next.\n- Nobody may touch the crane of " + n + "."
}

func resent(messages []chat.Message) []timeline.Resent {
	out := make([]timeline.Resent, len(messages))
	for i := range messages {
		out[i] = timeline.Resent{Raw: messages[i].Raw, Format: timeline.FormatAnthropic, Role: string(messages[i].Role)}
	}
	return out
}

func (s *play) messages(words []string) []chat.Message {
	s.t.Helper()
	var out []chat.Message
	for _, w := range words {
		m, err := wire.ReadMessage(wire.Anthropic, []byte(messageOf(w)))
		if err != nil {
			s.t.Fatalf("%s: %v", w, err)
		}
		out = append(out, m)
	}
	return out
}

func messageOf(word string) string {
	if question, wrapped := strings.CutPrefix(word, "w"); wrapped {
		return fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"Answer from these pages about %s:\nmuch text\nQuestion: %s and so on"}]}`, question, question)
	}
	name := strings.TrimRight(word, "'*+^#-!<=~_")
	role := map[byte]string{'u': "user", 'a': "assistant", 'r': "user", 's': "system"}[name[0]]
	text := name + " and so on"
	if strings.HasPrefix(name, "sum") {
		role = "user"
		text = name + ": this session is being continued from a previous conversation that ran out of context. " +
			strings.Repeat("Much was done. ", 20)
	}
	if strings.HasPrefix(name, "sumshort") {
		text = "Here is a summary of the conversation to date:\n\n" + name + "."
	}
	if name[0] == 'a' {
		text = name + " is what the model said, and so on"
	}
	if strings.HasPrefix(name, "along") {
		text = strings.Repeat(name+" is what the model said, and said at length. ", 8)
	}
	if strings.HasPrefix(name, "ashort") {
		text = "Ok."
	}
	if strings.HasPrefix(name, "uasks") {
		text = "Please create a detailed summary of the conversation so far."
	}
	if n, ok := strings.CutPrefix(name, "atold"); ok {
		text = told(n)
	}
	if n, ok := strings.CutPrefix(name, "utold"); ok { // "utold1b" is another message with the same answer
		text = name + ". What went before, in short:\n\n" + told(n[:1]) + "\n\nGo on from there."
	}
	if n, ok := strings.CutPrefix(name, "apast"); ok {
		text = "[COMPACTED HISTORY]\n" + told(n)
	}
	if strings.HasPrefix(name, "ulong") {
		text = name + " is a request that nobody else makes in these words, for it is long and about something"
	}
	switch word[len(name):] {
	case "-":
		text = text[:len(text)-6] + "…"
	case "!":
		text += " [checked by a filter]"
	case "<":
		text = "<answer>" + text + "</answer>"
	case "=":
		text = "a step"
	case "_":
		text = "\n" + text + "  \n"
	case "#":
		text = text[:4] + "\n" + chat.Mark + ": 40 tokens of the middle are left out here]\n" + text[len(text)-4:]
	}
	parts := fmt.Sprintf(`{"type":"text","text":%q}`, text)
	switch word[len(name):] {
	case "^":
		parts += fmt.Sprintf(`,{"type":"text","text":%q}`, chat.Mark+": 3 earlier messages (20 tokens) are not shown]")
	case "'":
		parts = fmt.Sprintf(`{"type":"text","text":%q,"cache_control":{"type":"ephemeral"}}`, text)
	case "*":
		parts = `{"type":"thinking","thinking":"hm","signature":"c2ln"},` + parts
	case "+":
		parts = fmt.Sprintf(`{"type":"text","text":%q},{"type":"text","text":%q}`, text[:4], text[4:])
	}
	id := "r" + name[1:]
	if rest, ok := strings.CutPrefix(name[1:], "callid"); ok {
		id = "toolu_" + timeline.HashOf([]byte(rest)).String()[:24]
	}
	switch name[0] {
	case 'r':
		if word[len(name):] == "#" {
			text = chat.Mark + ": the result of ls (40 tokens) is left out; it is old. Run it again if you need it.]"
		}
		if word[len(name):] == "~" {
			text = "[Old tool result content cleared]"
		}
		parts = fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q}`, id, text)
	case 'a':
		if strings.Contains(name, "call") {
			parts += fmt.Sprintf(`,{"type":"tool_use","id":%q,"name":"ls","input":{}}`, id)
		}
		if strings.HasPrefix(name, "aslong") {
			parts = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":%q}}`, id,
				strings.Repeat("grep -rn "+name+" . ", 6))
		}
	}
	if strings.HasPrefix(name, "athink") {
		parts = fmt.Sprintf(`{"type":"thinking","thinking":%q,"signature":"c2ln"}`, text)
	}
	return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, parts)
}
