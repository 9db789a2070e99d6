package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/items"
)

// note is the digest as a view shows it.
type note struct {
	body, kind string
	of         int
}

func (n *note) text() string {
	return condense.Header(n.kind, n.of) + "\n" + n.body
}

// within returns the digest and its kind with at most room tokens, shortened by rules if
// necessary; "" if nothing of it fits.
func (n *note) within(ctx context.Context, room int, count func(string) int) (text, kind string) {
	if n.body == "" {
		return "", ""
	}
	if text = n.text(); count(text) <= room {
		return text, n.kind
	}
	for limit := room - count(condense.Header(condense.KindDigest, n.of)+"\n"); limit > 0; limit = limit * 3 / 4 {
		out, err := condense.Digest{}.Condense(ctx, condense.Input{Previous: n.body, Max: limit, Count: count})
		if err != nil || out.Text == "" {
			return "", ""
		}
		short := note{out.Text, condense.KindDigest, n.of}
		if text = short.text(); count(text) <= room {
			return text, short.kind
		}
	}
	return "", ""
}

// unrepeated returns a digest without the lines that quote what is shown beside it, and ""
// if no line is left (SPEC D3).
func unrepeated(text string, shown []items.Item) string {
	folded := make([]string, len(shown))
	for i := range shown {
		folded[i] = singleSpaced(shown[i].Content)
	}
	var out []string
	said, cut := false, false // cut: lines that followed the last of out were left out
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		item, ok := strings.CutPrefix(line, "- ")
		if ok && slices.ContainsFunc(folded, func(text string) bool { return quotes(item, text) }) {
			cut = true
			continue
		}
		if n := len(out); !ok && cut && n > 1 && isTitle(out[n-1]) { // it has no line left
			out = out[:n-1]
		}
		out, cut = append(out, line), false
		said = said || len(out) > 1 && !isTitle(line)
	}
	for n := len(out); cut && n > 1 && isTitle(out[n-1]); n-- {
		out = out[:n-1]
	}
	if !said {
		return ""
	}
	return strings.Join(out, "\n")
}

// isTitle reports whether a line is the title of a section of a digest.
func isTitle(line string) bool { return strings.HasSuffix(line, ":") && !strings.HasPrefix(line, "- ") }

// quotes reports whether a line of a digest has nothing but words of a text, beside the name
// of the speaker.
func quotes(line, text string) bool {
	within := func(line string) bool {
		n := 0
		for piece := range strings.SplitSeq(line, "…") {
			piece = singleSpaced(piece)
			if n += len(piece); !strings.Contains(text, piece) {
				return false
			}
		}
		return n > 10
	}
	_, words, _ := strings.Cut(line, ": ")
	return within(line) || within(words)
}

// singleSpaced returns a text with single spaces between its words.
func singleSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }
