package socket

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// connection is a history with the memory that it holds.
type connection struct {
	*History
	held, most int64
}

func newConnection() *connection {
	c := &connection{most: 1 << 30}
	c.History = NewHistory(func(n int64) bool {
		if c.held+n > c.most {
			return false
		}
		c.held += n
		return true
	}, func(n int64) { c.held -= n })
	return c
}

// turn begins a call; the frame has single quotes.
func (c *connection) turn(frame string) *Turn {
	return c.Turn(ReadFrame([]byte(strings.ReplaceAll(frame, "'", `"`))))
}

// answer ends a call with a reply of items.
func answer(t *Turn, id string, items ...string) {
	var r Reply
	var events EventReader
	add := func(event string) {
		e := events.Read([]byte(strings.ReplaceAll(event, "'", `"`)))
		r.Add(&e)
	}
	add(fmt.Sprintf(`{'type':'response.created','response':{'id':'%s'}}`, id))
	for i, item := range items {
		add(fmt.Sprintf(`{'type':'response.output_item.done','output_index':%d,'item':%s}`, i, item))
	}
	add(fmt.Sprintf(`{'type':'response.completed','response':{'id':'%s','output':[]}}`, id))
	t.Answered(&r)
}

func expect(t *testing.T, got []byte, want string) {
	t.Helper()
	if want = strings.ReplaceAll(want, "'", `"`); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A body is a message without what belongs to the connection, and with all that it continues.
func TestBodyHasTheWholeInput(t *testing.T) {
	c := newConnection()
	turn := c.turn(`{'type':'response.create', 'model':'m','input':'hello', 'stream_id':'a','generate':true}`)
	expect(t, turn.Body(), `{'model':'m','input':'hello'}`)
	turn.Message(turn.Body())
	answer(turn, "r1", `{'n':1}`, `{'n':2}`)
	turn = c.turn(`{'previous_response_id':'r1','type':'response.create','input':[{'n': 3}],'tools':[]}`)
	expect(t, turn.Body(), `{'input':[{'role':'user','content':'hello'},{'n':1},{'n':2},{'n': 3}],'tools':[]}`)
	turn.Message(turn.Body())
	answer(turn, "r2")
	expect(t, c.turn(`{'type':'response.create','previous_response_id':'r2'}`).Body(),
		`{'input':[{'role':'user','content':'hello'},{'n':1},{'n':2},{'n': 3}]}`)
	expect(t, c.turn(`{'type':'response.create','previous_response_id':'r1','input':[]}`).Body(),
		`{'input':[{'role':'user','content':'hello'},{'n':1},{'n':2}]}`)
	expect(t, c.turn(`{'type':'response.create','previous_response_id':'other','input':[{'n':1}]}`).Body(),
		`{'previous_response_id':'other','input':[{'n':1}]}`)
}

// What is sent is the client's own message, what is new of a changed body, or all of it.
func TestMessages(t *testing.T) {
	c := newConnection()
	first := `{'type':'response.create','model':'m','input':[{'n':0},{'n':1}]}`
	turn := c.turn(first)
	expect(t, turn.Message(turn.Body()), first)
	answer(turn, "r1", `{'n':2}`)

	second := `{'type':'response.create','previous_response_id':'r1','stream_id':'a','model':'m', 'input':[{'n':3}]}`
	turn = c.turn(second)
	expect(t, turn.Message(turn.Body()), second)
	turn = c.turn(second)
	expect(t, turn.Message([]byte(`{"model":"m","input":[{"n":0},{"n":1},{"n":2},{"recalled":1},{"n":3}]}`)),
		`{'type':'response.create','previous_response_id':'r1','stream_id':'a','model':'m','input':[{'recalled':1},{'n':3}]}`)
	turn = c.turn(second)
	expect(t, turn.Message([]byte(`{"model":"m","input":[{"n":0},{"cut":1},{"n":3}]}`)),
		`{'type':'response.create','stream_id':'a','model':'m','input':[{'n':0},{'cut':1},{'n':3}]}`)
	answer(turn, "r3", `{'n':4}`)

	// The client continues its history; the provider has what was cut.
	third := `{'type':'response.create','previous_response_id':'r3','model':'m','input':[{'n':5}]}`
	turn = c.turn(third)
	expect(t, turn.Body(), `{'model':'m','input':[{'n':0},{'n':1},{'n':2},{'n':3},{'n':4},{'n':5}]}`)
	expect(t, turn.Message([]byte(`{"model":"m","input":[{"n":0},{"cut":1},{"n":3},{"n":4},{"n":5}]}`)), third)
	answer(turn, "r4")
	turn = c.turn(strings.ReplaceAll(third, "r3", "r4"))
	expect(t, turn.Message(turn.Body()), // the whole history again, after an undo
		`{'type':'response.create','model':'m','input':[{'n':0},{'n':1},{'n':2},{'n':3},{'n':4},{'n':5},{'n':5}]}`)
	expect(t, turn.Message([]byte(`{"model":"m","input":[{"n":0},{"cut":1},{"n":3},{"n":4},{"n":5},{"n":5}]}`)),
		`{'type':'response.create','model':'m','input':[{'n':0},{'cut':1},{'n':3},{'n':4},{'n':5},{'n':5}]}`)
}

// Messages that change something else are no calls, and neither are those that can be read in two
// ways.
func TestFrames(t *testing.T) {
	for frame, want := range map[string]string{
		`{'type':'response.create','input':[]}`:                              "response.create call",
		`{'type':'response.create','generate':false}`:                        "response.create call prepares",
		`{'type':'response.create','prompt_cache_options':{'prewarm':true}}`: "response.create call prepares",
		`{'type':'response.cancel'}`:                                         "response.cancel harmless",
		`{'type':'response.append','input':[]}`:                              "response.append",
		`{'type':'response.create','type':'response.create'}`:                "",
		`{'type':'response.create','input':[],'input':'x'}`:                  "",
		`[]`: "", `nothing`: "", ``: "",
	} {
		f := ReadFrame([]byte(strings.ReplaceAll(frame, "'", `"`)))
		got := f.Kind
		for name, is := range map[string]bool{" call": f.IsCall(), " harmless": f.Harmless()} {
			if is {
				got += name
			}
		}
		if f.Prepares {
			got += " prepares"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", frame, got, want)
		}
	}
	f := ReadFrame([]byte(
		`{"type":"response.create","client_metadata":{"x-codex-turn-metadata":"{}","session_id":"s","x-codex-n":1}}`))
	if len(f.Header) != 1 || f.Header["x-codex-turn-metadata"] != "{}" {
		t.Error(f.Header)
	}
}

// A provider that keeps no response cannot look reasoning up that has no content.
func TestReasoningThatOnlyTheProviderHad(t *testing.T) {
	for store, want := range map[string]string{
		"false": `{'store':false,'input':[{'n':0},{'type':'reasoning','encrypted_content':'x'},{'n':1}]}`,
		"true":  `{'store':true,'input':[{'n':0},{'type':'reasoning'},{'type':'reasoning','encrypted_content':'x'},{'n':1}]}`,
	} {
		c := newConnection()
		turn := c.turn(`{'type':'response.create','store':` + store + `,'input':[{'n':0}]}`)
		turn.Message(turn.Body())
		answer(turn, "r", `{'type':'reasoning'}`, `{'type':'reasoning','encrypted_content':'x'}`)
		expect(t, c.turn(`{'type':'response.create','previous_response_id':'r','store':`+store+
			`,'input':[{'n':1}]}`).Body(), want)
	}
}

// Memory is given back when nothing can continue a response any more.
func TestMemoryOfHistory(t *testing.T) {
	c := newConnection()
	previous := ""
	for i := range 100 {
		turn := c.turn(fmt.Sprintf(`{'type':'response.create',%s'input':[{'n':%d}]}`, previous, i))
		turn.Message(turn.Body())
		id := fmt.Sprintf("r%d", i)
		answer(turn, id, fmt.Sprintf(`{'m':%d}`, i))
		if previous = fmt.Sprintf(`'previous_response_id':'%s',`, id); i == 50 {
			previous = "" // another chain
		}
	}
	turn := c.turn(`{'type':'response.create',` + previous + `'input':[]}`)
	var body struct{ Input []json.RawMessage }
	if err := json.Unmarshal(turn.Body(), &body); err != nil || len(body.Input) != 2*49 {
		t.Errorf("%d items, %v", len(body.Input), err)
	}
	if c.Known() != maxResponses {
		t.Errorf("%d responses can be continued", c.Known())
	}
	turn.Answered(nil)
	c.most = c.held // there is no more
	turn = c.turn(`{'type':'response.create',` + previous + `'input':[{'n':1}]}`)
	turn.Message(turn.Body())
	answer(turn, "full")
	if c.Known() != 0 || c.held != 0 {
		t.Errorf("%d responses and %d bytes are held", c.Known(), c.held)
	}
}

// What is forgotten while a call runs stays so.
func TestForgetWhileACallRuns(t *testing.T) {
	c := newConnection()
	turn := c.turn(`{'type':'response.create','input':[{'n':0}]}`)
	turn.Message(turn.Body())
	c.Forget()
	answer(turn, "r")
	expect(t, c.turn(`{'type':'response.create','previous_response_id':'r','input':[]}`).Body(),
		`{'previous_response_id':'r','input':[]}`)
	if c.held != 0 {
		t.Errorf("%d bytes are held", c.held)
	}
}

func TestEvents(t *testing.T) {
	var events EventReader
	for event, want := range map[string]string{
		`{'type':'response.created'}`:                               "reply",
		`{'type':'response.completed'}`:                             "reply last",
		`{'type':'response.steer.accepted','stream_id':'a'}`:        "a",
		`{'type':'codex.rate_limits'}`:                              "",
		`{'type':'error','status':429,'headers':{'Retry-After':7}}`: "reply last 429 7",
		`{'type':'error','error':{'message':'x'}}`:                  "reply last 400",
		`nothing`: "",
	} {
		e := events.Read([]byte(strings.ReplaceAll(event, "'", `"`)))
		var got []string
		for _, part := range []struct {
			text string
			is   bool
		}{{e.Stream, e.Stream != ""}, {"reply", e.Reply}, {"last", e.Last}, {fmt.Sprint(e.Status), e.Status != 0},
			{e.RetryAfter, e.RetryAfter != ""}} {
			if part.is {
				got = append(got, part.text)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
	e := events.Read([]byte("{\n\"type\":\"response.created\"\r\n}"))
	expect(t, e.AppendSSE(nil), "event: response.created\ndata: { 'type':'response.created'  }\n\n")
}

// No message is read in a way that another reader of JSON does not share.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"type":"response.create","previous_response_id":"r","input":[{"n":1}],"stream_id":"a"}`))
	f.Add([]byte(`{"type":"response.create","input":"x","generate":false}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		frame := ReadFrame(raw)
		if !frame.IsCall() {
			return
		}
		c := newConnection()
		turn := c.Turn(frame)
		if !json.Valid(turn.Body()) {
			t.Fatalf("%q becomes %q", raw, turn.Body())
		}
		if got := turn.Message(turn.Body()); string(got) != string(raw) {
			t.Fatalf("%q is sent as %q", raw, got)
		}
		answer(turn, "r", `{"n":2}`)
		turn = c.Turn(ReadFrame([]byte(`{"type":"response.create","previous_response_id":"r","input":[{"n":3}]}`)))
		if !json.Valid(turn.Body()) || !json.Valid(turn.Message([]byte(`{"input":[]}`))) {
			t.Fatalf("%q continues as %q", raw, turn.Body())
		}
	})
}
