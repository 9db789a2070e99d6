package wire_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/script"
	"github.com/oriel-context/oriel/wire"
)

// TestScripts reads the bodies in testdata/*.txt and prints what was understood,
// or the error. "format NAME" before a body reads it as that format; "view 0 3 +"
// writes it back with those messages, "+" being a made one.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T, in string) string {
		f := wire.Auto
		var view []string
		var body strings.Builder
		for _, line := range strings.Split(in, "\n") {
			switch words := strings.Fields(line); {
			case len(words) > 0 && words[0] == "#":
			case len(words) > 0 && words[0] == "format":
				var err error
				if f, err = wire.ParseFormat(words[1]); err != nil {
					t.Fatal(err)
				}
			case len(words) > 0 && words[0] == "view":
				view = words[1:]
			default:
				body.WriteString(line + "\n")
			}
		}
		data := []byte(strings.TrimSuffix(body.String(), "\n"))
		b, err := wire.Read(data, f, wire.Limits{})
		if err != nil {
			return "error: " + err.Error()
		}
		if view != nil {
			return write(t, b, view)
		}
		return show(b)
	})
}

func write(t *testing.T, b *wire.Body, view []string) string {
	t.Helper()
	var pieces []wire.Piece
	for _, w := range view {
		if w == "+" {
			pieces = append(pieces, wire.Piece{Raw: []byte(`{"role":"user","content":"made"}`)})
			continue
		}
		n, err := strconv.Atoi(w)
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, wire.Piece{Index: n})
	}
	out, err := b.Write(pieces)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(out)
}

var kinds = map[chat.Kind]string{
	chat.Unknown: "unknown", chat.Text: "text", chat.Image: "image", chat.Document: "document", chat.Audio: "audio",
	chat.Call: "call", chat.Result: "result", chat.Thinking: "thinking", chat.Refusal: "refusal",
	chat.Compaction: "compaction", chat.Reference: "reference", chat.Catalog: "catalog",
}

func show(b *wire.Body) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s model=%q", b.Format, b.Model)
	if b.MaxOutput > 0 {
		fmt.Fprintf(&out, " output=%d", b.MaxOutput)
	}
	if b.ThinkingBudget > 0 {
		fmt.Fprintf(&out, " thinking=%d", b.ThinkingBudget)
	}
	if b.Window > 0 {
		fmt.Fprintf(&out, " window=%d", b.Window)
	}
	if b.Stream {
		out.WriteString(" stream")
	}
	if b.Managed != "" {
		fmt.Fprintf(&out, " managed by %s", b.Managed)
	}
	if b.Compacts {
		out.WriteString(" compacts")
	}
	out.WriteString("\n")
	for i := range b.System {
		out.WriteString("system" + part(&b.System[i]) + "\n")
	}
	for _, t := range b.Tools {
		fmt.Fprintf(&out, "tool %s\n", t.Name)
	}
	for i := range b.Messages {
		m := &b.Messages[i]
		fmt.Fprintf(&out, "%d %s", i, m.Role)
		for _, s := range []struct{ name, value string }{{"type", m.Type}, {"id", m.ID}, {"name", m.Name}} {
			if s.value != "" {
				fmt.Fprintf(&out, " %s=%s", s.name, s.value)
			}
		}
		for j := range m.Parts {
			out.WriteString(part(&m.Parts[j]))
		}
		out.WriteString("\n")
	}
	return out.String()
}

func part(p *chat.Part) string {
	var out strings.Builder
	fmt.Fprintf(&out, " [%s", kinds[p.Kind])
	for _, s := range []struct{ name, value string }{{"id", p.ID}, {"name", p.Name}, {"args", p.Arguments()}} {
		if s.value != "" {
			fmt.Fprintf(&out, " %s=%s", s.name, s.value)
		}
	}
	if p.Text != nil {
		fmt.Fprintf(&out, " %q", p.Text.String())
	}
	if m := p.Media; m != nil {
		fmt.Fprintf(&out, " type=%q data=%q url=%q file=%q detail=%q", m.Type, m.Data, m.URL, m.FileID, m.Detail)
		if m.Text != nil {
			fmt.Fprintf(&out, " %q", m.Text.String())
		}
	}
	for i := range p.Parts {
		out.WriteString(part(&p.Parts[i]))
	}
	for _, s := range []struct {
		name string
		set  bool
	}{{"signed", p.Signed}, {"error", p.IsError}, {"hosted", p.Hosted}, {"cached", p.Cached}} {
		if s.set {
			out.WriteString(" " + s.name)
		}
	}
	out.WriteString("]")
	return out.String()
}
