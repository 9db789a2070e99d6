package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire"
)

// fill fills the frame of a body with the body's own values.
func fill(t *testing.T, frame, body []byte) []byte {
	t.Helper()
	doc, err := rawjson.Parse(frame, rawjson.Limits{})
	if err != nil {
		t.Fatalf("%v in %s", err, frame)
	}
	whole, err := rawjson.Parse(body, rawjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	members, lists := map[string][]byte{}, map[string][][]byte{}
	for k, v := range doc.Root().Members() {
		name := k.Str()
		if value := whole.Root().Get(name); v.Kind() == rawjson.Array {
			lists[name] = [][]byte{}
			for e := range value.Elems() {
				lists[name] = append(lists[name], e.Raw())
			}
		} else {
			members[name] = value.Raw()
		}
	}
	out, err := wire.Fill(frame, members, lists)
	if err != nil {
		t.Fatalf("%v: %s", err, frame)
	}
	return out
}

func TestFrameHasAllButTheValues(t *testing.T) {
	for _, c := range []struct {
		format      wire.Format
		body, frame string
	}{
		{wire.Chat, `{"model":"m","messages":[]}`, `{"model":0,"messages":[]}`},
		{wire.Chat, "\n{ \"messages\" : [ {\"role\":\"user\",\"content\":\"x\"} ]\t, \"model\":\"m\"}\r\n",
			"\n{ \"messages\" : [ 0 ]\t, \"model\":0}\r\n"},
		{wire.Chat, `{"messages":[{"role":"user"}, {"role":"user"}, {"role":"user"}],"system":["x"]}`,
			`{"messages":[0, 0],"system":0}`},
		{wire.Chat, `{"messages":[{"role":"user"}, {"role":"user"},{"role":"user"}]}`,
			""}, // not separated alike
		{wire.Chat, `{"messages":[],"n":1,"n":2}`,
			""}, // given twice
		{wire.Chat, `{"messages":[],"\u006e\"":1}`,
			`{"messages":[],"\u006e\"":0}`}, // names as they came
		{wire.Anthropic, `{"system":[{"type":"text","text":"x"}],"messages":[]}`,
			`{"system":[0],"messages":[]}`}, // a list
		{wire.Anthropic, `{"system":[],"messages":[]}`, `{"system":0,"messages":[]}`},
		{wire.Anthropic, `{"system":"x","messages":[]}`, `{"system":0,"messages":[]}`},
		{wire.Responses, `{"instructions":"x","input":"y"}`, `{"instructions":0,"input":0}`},
		{wire.Responses, `{"input":["x"],"messages":[1]}`, ""}, // no body
	} {
		b, err := wire.Read([]byte(c.body), c.format, wire.Limits{})
		if err != nil {
			if c.frame != "" {
				t.Errorf("%s: %v", c.body, err)
			}
			continue
		}
		frame := b.Frame()
		if string(frame) != c.frame {
			t.Errorf("%s has the frame %s, want %s", c.body, frame, c.frame)
		}
		if c.frame != "" {
			if got := fill(t, frame, []byte(c.body)); string(got) != c.body {
				t.Errorf("%s was %s", got, c.body)
			}
		}
	}
}

// However a client writes its JSON, the frame and the values are the body again, and bodies
// that differ only in their values have the same frame.
func TestFramesOfRandomBodies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	space := func() string {
		return []string{"", "", "", " ", "\n  ", "\r\n\t"}[r.IntN(6)]
	}
	for range 2000 {
		comma, n := space()+","+space(), r.IntN(5)
		var list bytes.Buffer
		open, end := "["+space(), space()+"]"
		for i := range n {
			if i > 0 {
				list.WriteString(comma)
			}
			fmt.Fprintf(&list, `{"role":%q,%s"content":"%d [,{\"%s"}`, []string{"user", "assistant"}[i%2], space(),
				r.IntN(1000), space()[:0])
		}
		members := []string{
			`"messages"` + space() + ":" + space() + open + list.String() + end,
			`"model"` + space() + ":" + space() + `"m , } \" :"`, `"max_tokens":` + space() + "5",
			`"tools":[ ]`, `"metadata": {"a" : [1, 2]}`,
			[]string{`"system":"x"`, `"system":[{"type":"text","text":"x"}` + space() + "," + space() +
				`{"type":"text","text":"y"} ]`}[r.IntN(2)],
		}
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		var body bytes.Buffer
		body.WriteString(space() + "{" + space())
		for i, m := range members {
			if i > 0 {
				body.WriteString(space() + "," + space())
			}
			body.WriteString(m)
		}
		body.WriteString(space() + "}" + space())
		if !json.Valid(body.Bytes()) {
			t.Fatalf("not JSON: %s", body.Bytes())
		}
		b, err := wire.Read(body.Bytes(), wire.Anthropic, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		frame := b.Frame()
		if frame == nil {
			t.Fatalf("no frame of %s", body.Bytes())
		}
		if got := fill(t, frame, body.Bytes()); !bytes.Equal(got, body.Bytes()) {
			t.Fatalf("%s\nwas\n%s\nby %s", got, body.Bytes(), frame)
		}
	}
}

// Values of another body are refused.
func TestFillRefusesOtherValues(t *testing.T) {
	one, two := [][]byte{[]byte("1")}, [][]byte{[]byte("1"), []byte("2")}
	for _, c := range []struct {
		frame   string
		members map[string][]byte
		lists   map[string][][]byte
	}{
		{`{"a":0}`, nil, nil},
		{`{"a":0}`, map[string][]byte{"a": one[0], "b": one[0]}, nil},
		{`{"a":[0]}`, nil, map[string][][]byte{"a": two}},
		{`{"a":[0,0]}`, nil, map[string][][]byte{"a": one}},
		{`{"a":[]}`, nil, map[string][][]byte{"a": one}},
		{`{"a":[0]}`, map[string][]byte{"a": one[0]}, nil},
		{`{"a":`, map[string][]byte{"a": one[0]}, nil},
	} {
		if out, err := wire.Fill([]byte(c.frame), c.members, c.lists); err == nil {
			t.Errorf("%s became %s", c.frame, out)
		}
	}
}
