package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/test/mixtext"
)

// kind is a kind of body that is measured.
type kind struct {
	name      string
	anthropic bool
	messages  int    // messages of the history at the beginning
	size      int    // bytes of each message
	talks     int    // conversations at once
	calls     int    // calls of each; every call adds two messages
	words     string // kinds with the same words send the same texts
}

// kinds have about the size in their names in the middle of their calls. The last one
// sends the texts of the first one in another protocol, which the store has by then.
var kinds = []kind{
	{"Messages 2 kB", true, 5, 200, 20, 3, "m2"},
	{"Messages 200 kB", true, 171, 1000, 4, 12, "m200"},
	{"Messages 1 MB", true, 901, 1000, 2, 16, "m1M"},
	{"Chat 2 kB", false, 5, 200, 20, 3, "c2"},
	{"Chat 200 kB", false, 171, 1000, 4, 12, "c200"},
	{"Chat 1 MB", false, 901, 1000, 2, 16, "c1M"},
	{"Chat 10,000 messages", false, 9951, 100, 1, 16, "c10k"},
	{"Chat 2 kB, said before", false, 5, 200, 20, 3, "m2"},
}

// texts is the source of the messages' texts.
var texts = func() []byte {
	b, err := mixtext.Build(4 << 20)
	if err != nil {
		panic(err)
	}
	return b
}()

// text returns about size bytes that begin with the mark, the same for the
// same mark.
func text(mark string, size int) string {
	h := fnv.New64a()
	h.Write([]byte(mark))
	at := int(h.Sum64() % uint64(len(texts)-size-utf8.UTFMax))
	return strings.ToValidUTF8(mark+": "+string(texts[at:at+max(0, size-len(mark)-40)]), "")
}

// turnMark returns the mark of a turn, which contains the length of the
// answer. The answer's mark is derived from it.
func turnMark(size int, talk string, n int) string {
	return fmt.Sprintf("turn-%d-%s-%d", size, talk, n)
}
func replyMark(turn string) string { return "reply" + strings.TrimPrefix(turn, "turn") }

// answerTo returns the model's answer to a body, or "" if there is no turn in
// it.
func answerTo(body []byte) string {
	at := bytes.LastIndex(body, []byte("turn-"))
	if at < 0 {
		return ""
	}
	mark, _, _ := bytes.Cut(body[at:], []byte(":"))
	sized, _, _ := strings.Cut(strings.TrimPrefix(string(mark), "turn-"), "-")
	size, err := strconv.Atoi(sized)
	if err != nil || size > 100_000 {
		return ""
	}
	return text(replyMark(string(mark)), size)
}

// talk is one conversation of an agent.
type talk struct {
	kind
	name    string
	history []byte // all messages, with commas
	ends    []int  // of each message in it
}

func newTalk(k kind, name string) *talk {
	t := &talk{kind: k, name: name}
	for i := 0; i < k.messages+2*k.calls; i++ {
		mark := turnMark(k.size, name, i/2)
		role := "user"
		if i%2 == 1 {
			role, mark = "assistant", replyMark(mark)
		}
		if i > 0 {
			t.history = append(t.history, ',')
		}
		t.history = fmt.Appendf(t.history, `{"role":%q,"content":%s}`, role, quote(text(mark, k.size)))
		t.ends = append(t.ends, len(t.history))
	}
	return t
}

func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// body returns the request of a call, and the mark of its answer. Call 0 opens
// the conversation.
func (t *talk) body(call int, stream bool) (body []byte, want string) {
	n := t.messages + 2*call
	const system = "You are a careful agent that works on a program. Answer in short sentences."
	if t.anthropic {
		body = fmt.Appendf(body, `{"model":"claude-sonnet-4-5","max_tokens":1024,"system":%q,"stream":%t,"messages":[`,
			system, stream)
	} else {
		body = fmt.Appendf(body, `{"model":"gpt-4o","stream":%t,"messages":[{"role":"system","content":%q},`, stream,
			system)
	}
	body = append(body, t.history[:t.ends[n-1]]...)
	return append(body, "]}"...), replyMark(turnMark(t.size, t.name, (n-1)/2)) + ":"
}
