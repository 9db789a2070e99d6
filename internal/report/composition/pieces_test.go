package composition

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// The pieces of any request add up to its tokens.
func TestPiecesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(protocols.All()).Draw(t, "protocol")
		body, err := wire.Read(p.Draw(t, histories.Options{}), wire.Auto, wire.Limits{})
		if err != nil {
			t.Skip(err)
		}
		model := rapid.SampledFrom([]string{"claude-opus-4-1", "gpt-4o", "nobody-knows"}).Draw(t, "model")
		c := token.NewCounter(token.Builtin().Lookup(model), token.Options{})
		b := c.Request(&body.Request)
		sum := 0
		for _, p := range decompose(&body.Request, c, b, nil) {
			if p.tokens < 0 || p.kind == "" || len(p.text) > begins {
				t.Fatalf("%+v", p)
			}
			sum += p.tokens
		}
		if sum != b.Total {
			t.Fatalf("%d tokens, want %d", sum, b.Total)
		}
	})
}

func TestMemoryFilesOfCodex(t *testing.T) {
	files := memoryFiles("# AGENTS.md instructions for /src/shop\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>")
	if len(files) != 1 || files[0].path != "/src/shop" || files[0].text != "Use tabs.\n" {
		t.Errorf("%+v", files)
	}
	if files := memoryFiles("Contents of a.txt:\nwords"); files != nil {
		t.Errorf("%+v", files)
	}
}
