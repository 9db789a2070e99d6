package token

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
)

var drawPart = rapid.Custom(func(t *rapid.T) chat.Part {
	p := chat.Part{Kind: chat.Kind(rapid.IntRange(0, int(chat.Catalog)).Draw(t, "kind"))}
	words := rapid.StringN(0, 60, -1)
	switch p.Kind {
	case chat.Call:
		p.Name = words.Draw(t, "name")
		p.Args, _ = json.Marshal(map[string]string{"a": words.Draw(t, "arg")})
	case chat.Image, chat.Document, chat.Audio:
		p.Media = &chat.Media{Data: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "data")}
	case chat.Unknown, chat.Reference, chat.Catalog:
		p.Raw, _ = json.Marshal(words.Draw(t, "raw"))
	default:
		p.Text = chat.Quote(words.Draw(t, "text"))
		p.Signed = rapid.Bool().Draw(t, "signed")
	}
	return p
})

var drawMessage = rapid.Custom(func(t *rapid.T) chat.Message {
	m := chat.Message{
		Role:  rapid.SampledFrom([]chat.Role{chat.System, chat.User, chat.Assistant, chat.Tool}).Draw(t, "role"),
		Parts: rapid.SliceOfN(drawPart, 0, 4).Draw(t, "parts"),
	}
	if rapid.IntRange(0, 4).Draw(t, "named") == 0 {
		m.Name = "ann"
	}
	// Raw stands for the parts: it differs whenever they do.
	m.Raw, _ = json.Marshal(m.Parts)
	return m
})

var drawRequest = rapid.Custom(func(t *rapid.T) *chat.Request {
	r := &chat.Request{
		System:   rapid.SliceOfN(drawPart, 0, 2).Draw(t, "system"),
		Messages: rapid.SliceOfN(drawMessage, 0, 6).Draw(t, "messages"),
	}
	if rapid.Bool().Draw(t, "tools") {
		r.Tools = []chat.ToolDef{{Name: "w", Raw: []byte(weatherTool)}}
	}
	return r
})

var drawModel = rapid.Custom(func(t *rapid.T) Model {
	return rapid.SampledFrom(append(Builtin().All(), Builtin().Lookup("unheard-of"))).Draw(t, "model")
})

var drawScale = rapid.Custom(func(t *rapid.T) Scale {
	return Scale{
		Slope:  rapid.Float64Range(0.5, 2).Draw(t, "slope"),
		Offset: rapid.Float64Range(-5000, 5000).Draw(t, "offset"),
		N:      rapid.IntRange(0, 9).Draw(t, "n"),
		Least:  rapid.IntRange(0, 3000).Draw(t, "least"),
	}
})

// SPEC B6
func TestARequestIsTheSumOfItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, s := drawRequest.Draw(t, "request"), drawScale.Draw(t, "scale")
		c := NewCounter(drawModel.Draw(t, "model"), Options{Scale: s})
		b := c.Request(r)
		sum := b.System + b.Tools + b.Overhead
		for _, n := range b.Messages {
			if n < 0 {
				t.Fatalf("a message of %d tokens", n)
			}
			sum += n
		}
		if sum != b.Total || len(b.Messages) != len(r.Messages) || min(b.System, b.Tools, b.Overhead) < 0 {
			t.Fatalf("%+v: parts sum up to %d", b, sum)
		}
		want := b.Local
		if s.Calibrated() && b.Accuracy != Exact {
			want = s.Apply(b.Local)
		}
		if b.Total != want {
			t.Fatalf("%+v: total %d, but the scale makes %d of %d", s, b.Total, want, b.Local)
		}
		if b.Accuracy == Exact && !c.model.Exact || b.Accuracy == Calibrated && (!s.Calibrated() || b.Local < s.Least) {
			t.Fatalf("%s: %s with %+v", c.model.ID, b.Accuracy, s)
		}
		// A message alone counts as it does in the request, unless the rest
		// of the request makes a calibrated figure of an exact one, or all
		// parts bear an offset below 0, or what rounding lacks.
		if s.Calibrated() && s.Offset < float64(len(r.Messages)) {
			return
		}
		for i := range r.Messages {
			if m := c.Message(&r.Messages[i]); (m.Accuracy == Exact) == (b.Accuracy == Exact) &&
				m.Tokens != b.Messages[i] {
				t.Fatalf("message %d is %+v alone, %d in the request", i, m, b.Messages[i])
			}
		}
	})
}

func TestAddingAMessageNeverLowersTheTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, m := drawRequest.Draw(t, "request"), drawMessage.Draw(t, "message")
		c := NewCounter(drawModel.Draw(t, "model"),
			Options{Scale: Scale{Slope: 1.2, N: rapid.IntRange(0, 5).Draw(t, "n")}})
		before := c.Request(r)
		r.Messages = append(r.Messages, m)
		after := c.Request(r)
		if after.Local < before.Local {
			t.Fatalf("%d tokens became %d", before.Local, after.Local)
		}
		if after.Accuracy == before.Accuracy && after.Total < before.Total {
			t.Fatalf("%d tokens became %d", before.Total, after.Total)
		}
	})
}

func TestCountsAreTheSameWithAndWithoutCache(t *testing.T) {
	big, small := NewCache(0), NewCache(1) // small forgets all the time
	rapid.Check(t, func(t *rapid.T) {
		r, m := drawRequest.Draw(t, "request"), drawModel.Draw(t, "model")
		want := NewCounter(m, Options{}).Request(r)
		for range 2 {
			for _, cache := range []*Cache{big, small} {
				if d := cmp.Diff(want, NewCounter(m, Options{Cache: cache}).Request(r)); d != "" {
					t.Fatal(d)
				}
			}
		}
	})
}
