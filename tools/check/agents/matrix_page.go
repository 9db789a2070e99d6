package agents

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// pageHead is the head of the page, with quotes for the marks of code.
const pageHead = `# Agents and frameworks

For people who want to know whether their agent or framework works with Oriel, and with which version that was seen.

%d programs and ways to use them were installed by the names of their packages and ran through "oriel serve" against a
scripted model that speaks the vendor's API and refuses what the vendor refuses. Each read some 35 to 110 parts, was
asked for a fact of the third, and began another session. No provider was called. "scripts/check agents -all" does it
again and writes this page; the [recipes](reference/recipes.md) say how to set each one up.

- **one**: the session is one conversation of Oriel's, and the other session another one.
- **valid**: no request was one that the vendor refuses.
- **bounded**: the largest request as the program wrote it and as Oriel sent it, in thousands of tokens of four bytes;
  in brackets how many cuts that took. The budget was 8k for frameworks and packages, more for agents with long
  instructions. Ollama's own window, 4,096 tokens, is less than that.
- **prefix**: the beginning of a request changed only by these cuts, or because the program changed it.
- **recalled**: the question for the fact was sent with the fact.
- **replies**: the program got the bytes of the model.
- **summary**: requests of the program for a summary of its own, which are sent whole, of all such requests.
- **usage**: "oriel usage" has the tokens that the model reported.

|program|version|API|set by|calls|one|valid|bounded|prefix|recalled|replies|summary|usage|day|
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// page returns docs/agents.md.
func page(all map[string]row) []byte {
	var rows, skipped []row
	for _, p := range slices.Concat(programs, others) {
		r, ok := all[p.name]
		switch {
		case !ok:
			r = row{Title: p.title, API: p.api, Skipped: "was not run"}
			skipped = append(skipped, r)
		case r.Skipped != "":
			skipped = append(skipped, r)
		default:
			rows = append(rows, r)
		}
	}
	var b, notes bytes.Buffer
	fmt.Fprintf(&b, strings.ReplaceAll(pageHead, `"`, "`"), len(rows))
	for _, r := range rows {
		b.WriteString(r.line())
		switch {
		case r.Why != "":
			fmt.Fprintf(&notes, "- %s (%s): %s.\n", r.Title, r.API, r.Why)
		case len(r.Problems) > 0:
			fmt.Fprintf(&notes, "- %s (%s) failed: %.120s.\n", r.Title, r.API, oneLine(r.Problems[0]))
		}
	}
	if notes.Len() > 0 {
		fmt.Fprintf(&b, "\nWhat the table does not say:\n\n%s", notes.Bytes())
	}
	b.WriteString("\nNot run:\n\n")
	for _, r := range skipped {
		fmt.Fprintf(&b, "- %s (%s): %.120s.\n", r.Title, r.API, oneLine(r.Skipped))
	}
	for _, u := range unavailable {
		fmt.Fprintf(&b, "- %s: %s.\n", u[0], u[1])
	}
	return b.Bytes()
}

// line is the row as a line of the table.
func (r *row) line() string {
	wrong := func(words string) bool {
		return slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, words) })
	}
	recalled, summary := "–", "–"
	if r.Asked > 0 {
		recalled = yes(r.Recalled == r.Asked)
	}
	if r.Summaries > 0 {
		summary = fmt.Sprintf("%d/%d", r.Whole, r.Summaries)
	}
	came := thousands(r.Came)
	if strings.Contains(r.API, "WebSocket") { // where a program sends only what is new
		came = ""
	}
	bounded := fmt.Sprintf("%s→%s (%d)", came, thousands(r.Sent), r.Cuts)
	if wrong("with a budget of") {
		bounded = "**no**: " + bounded
	}
	cells := []string{r.Title, r.Version, r.API, "`" + r.Set + "`", fmt.Sprint(r.Calls),
		yes(r.Sessions == 1 && !wrong("another session")), yes(!wrong("refused: ")),
		bounded, yes(r.Breaks <= r.Cuts+r.Own),
		recalled, yes(r.Same == r.Replies), summary, r.Usage, r.Date}
	return "|" + strings.Join(cells, "|") + "|\n"
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "**no**"
}

// thousands writes tokens as 7.9k.
func thousands(tokens int) string { return fmt.Sprintf("%.1fk", float64(tokens)/1000) }

// oneLine is a text without line feeds.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
