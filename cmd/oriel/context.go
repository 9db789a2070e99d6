package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/composition"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/term"
)

func contextCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "context [CONVERSATION] [CALL]",
		Short: "Show what fills the window of a call",
		Long: `Show what the model was sent at a call: the system prompt, tools by MCP server, memory
files, people's words, the model's words, thinking, results by tool, digests, what was
recalled, and how much of the model's window is free. Below that are the ten largest
single things, and the tools that were sent with every call and never used.

` + meaning + `
Without it, it is the one with the newest call. CALL is the number of a call, from 1 on,
its id, or "last", the default: oriel show CONVERSATION --calls lists them.`,
		Example: `  oriel context
  oriel context last 12
  oriel context 3c546d67 --json`,
		Args: oneConversation(0, 2, "a conversation and a call, or none for the newest"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	table, data := addModelTable(cmd), addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		models, err := modelTable(*table)
		if err != nil {
			return err
		}
		return data.with(cmd.Context(), func(s tenantStore) error {
			learnt, err := data.calibration()
			if err != nil {
				warn(cmd, []string{err.Error()})
			}
			conversation, key, err := whichCall(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			w, err := composition.Read(cmd.Context(), s, s.tenant, conversation, key,
				composition.Options{Models: models, Calibration: learnt})
			if errors.Is(err, call.ErrPlanGone) {
				return err
			} else if err != nil {
				return &failure{err}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), w)
			}
			short, err := shortIDsFor(cmd.Context(), cmd.OutOrStdout(), s)
			if err != nil {
				return err
			}
			return term.Paged(cmd.OutOrStdout(), func(out io.Writer, sc term.Screen) error {
				_, err := out.Write(drawContext(w, short.of(w.Conversation), sc.Style, cmp.Or(sc.Width, 80)))
				return err
			})
		})
	}
	return cmd
}

// whichCall finds the call that a person means.
func whichCall(ctx context.Context, s tenantStore, args []string) (conversation, call string, err error) {
	if len(args) == 0 {
		return newestCall(ctx, s)
	}
	c, err := findConversation(ctx, s, args[0])
	if err != nil {
		return "", "", err
	}
	if len(args) == 1 {
		if call, err = usage.Latest(ctx, s, s.tenant, c.Name); err != nil {
			return "", "", &failure{err}
		}
		if call == "" {
			return "", "", fmt.Errorf("%q has no recorded calls: oriel run and oriel serve record them",
				wholeID(c.Name))
		}
		return c.Name, call, nil
	}
	calls, err := report.Calls(ctx, s, s.tenant, &c)
	if err != nil {
		return "", "", &failure{err}
	}
	i, err := report.CallOf(calls, args[1])
	if err != nil {
		return "", "", err
	}
	return c.Name, calls[i].ID, nil
}

// newestCall finds the newest call of all.
func newestCall(ctx context.Context, s tenantStore) (conversation, call string, err error) {
	conversation, call, err = usage.Newest(ctx, s, s.tenant)
	if err != nil {
		return "", "", &failure{err}
	}
	if call == "" {
		return "", "", fmt.Errorf("no call was recorded: oriel run and oriel serve record them")
	}
	return conversation, call, nil
}

// kindLook is how a kind is called and coloured.
var kindLook = map[composition.Kind]struct{ name, colour string }{
	composition.System:   {"system prompt", "34"},
	composition.Tools:    {"tools", "36"},
	composition.Memory:   {"memory files", "35"},
	composition.Agent:    {"the agent's notes", "90"},
	composition.People:   {"people's words", "32"},
	composition.Model:    {"the model's words", "33"},
	composition.Thinking: {"thinking", "93"},
	composition.Calls:    {"tool calls", "94"},
	composition.Results:  {"results", "31"},
	composition.Media:    {"images and files", "95"},
	composition.Digest:   {"digest", "96"},
	composition.Recalled: {"recalled", "92"},
	composition.Notes:    {"notes of Oriel", "90"},
	composition.Other:    {"other", "90"},
	composition.Overhead: {"structure", "90"},
	composition.Free:     {"free", "2"},
}

// maxNames is how many names of a kind are listed.
const maxNames = 5

// drawContext shows a window to a person, in lines of at most width columns. name is the
// conversation as other commands accept it.
func drawContext(w *composition.Window, name string, s term.Style, width int) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) {
		paragraph(&b, term.Screen{Width: width}, "%s", term.OneLine(fmt.Sprintf(format, args...), 1<<10))
	}
	for _, l := range term.Wrap(fmt.Sprintf("%s · call %d · %s · %s", wholeID(name), w.Call,
		w.Time.Local().Format("2 Jan 15:04"), term.OneLine(w.Model, 60)), width, 0) {
		b.WriteString(s.Bold(l) + "\n")
	}
	head := fmt.Sprintf("%s of %s tokens (%s)", term.Thousands(w.Tokens), term.Thousands(w.Window),
		term.Percent(w.Tokens, w.Window))
	if w.Reported > 0 {
		head += fmt.Sprintf("; the provider counted %s", term.Thousands(w.Reported))
	}
	line("%s", head)
	switch {
	case w.LeftOut > 0:
		fmt.Fprintf(&b, "%s left out: %s\n", term.Thousands(w.LeftOut),
			wholeID(shellLine([]string{"oriel", "show", name, "--plan"})))
	case w.Profile != "":
		line("everything that came was sent")
	}
	if w.Budget > 0 && w.Budget < w.Limit {
		line("profile %s cuts above %s tokens, marked ┊: this is %s of that", w.Profile, term.Thousands(w.Budget),
			term.Percent(w.Tokens, w.Budget))
	}
	b.WriteString("\n" + stacked(w, s, width) + "\n\n")
	kindRows(&b, w, s, width)
	largestRows(&b, w, s, width)
	unusedRows(&b, w, s, width)
	return b.Bytes()
}

// stacked draws the window as one bar, with a mark where the profile cuts.
func stacked(w *composition.Window, s term.Style, width int) string {
	var out strings.Builder
	signs := []string{"█", "▓", "▒"}
	run, done, k := 0, 0, 0
	for i, kind := range w.Kinds {
		run += kind.Tokens
		upTo := int(float64(run)/float64(max(1, w.Window))*float64(width) + .5)
		upTo = min(upTo, width)
		sign := "·"
		if kind.Kind != composition.Free {
			if i > 0 && w.Kinds[i-1].Kind != kind.Kind {
				k++
			}
			sign = signs[k%len(signs)]
		}
		part := strings.Repeat(sign, max(0, upTo-done))
		if at := w.Budget*width/max(1, w.Window) - done; kind.Kind == composition.Free && w.Budget < w.Limit &&
			0 <= at && at < upTo-done {
			part = strings.Repeat(sign, at) + "┊" + strings.Repeat(sign, upTo-done-at-1)
		}
		out.WriteString(s.Code(kindLook[kind.Kind].colour, part))
		done = max(done, upTo)
	}
	return out.String()
}

// kindRows lists the kinds, and the names of each.
func kindRows(b *bytes.Buffer, w *composition.Window, s term.Style, width int) {
	type group struct {
		composition.Share
		names []composition.Share
	}
	var groups []group
	most := 0
	for _, k := range w.Kinds {
		if n := len(groups); n == 0 || groups[n-1].Kind != k.Kind {
			groups = append(groups, group{Share: composition.Share{Kind: k.Kind}})
		}
		g := &groups[len(groups)-1]
		g.Tokens, g.Share.Share, g.Count = g.Tokens+k.Tokens, g.Share.Share+k.Share, g.Count+k.Count
		if k.Name != "" || k.Kind == composition.Tools || k.Kind == composition.Results {
			g.names = append(g.names, k)
		}
		if k.Kind != composition.Free {
			most = max(most, g.Tokens)
		}
	}
	room := max(16, min(36, width-36))
	row := func(name string, tokens int, share float64) string {
		return fmt.Sprintf("%s %9s %6s", term.Pad(term.Clip(name, room), room), term.Thousands(tokens),
			fmt.Sprintf("%.1f%%", 100*share))
	}
	for _, g := range groups {
		look := kindLook[g.Kind]
		text := row(look.name, g.Tokens, g.Share.Share)
		if g.Kind == composition.Free {
			fmt.Fprintln(b, text)
			continue
		}
		fmt.Fprintf(b, "%s  %s\n", text,
			s.Code(look.colour, term.Bar(g.Tokens, most, max(0, width-term.Cells(text)-2))))
		for i, k := range g.names {
			if i == maxNames && len(g.names) > maxNames+1 {
				rest := composition.Share{}
				for _, k := range g.names[i:] {
					rest.Tokens, rest.Share = rest.Tokens+k.Tokens, rest.Share+k.Share
				}
				fmt.Fprintln(b, s.Code("2", row(fmt.Sprintf("  and %d more", len(g.names)-i), rest.Tokens, rest.Share)))
				break
			}
			fmt.Fprintln(b, s.Code("2", row(shareName(&k, room), k.Tokens, k.Share)))
		}
	}
}

// shareName returns the name of a row below a kind.
func shareName(k *composition.Share, room int) string {
	name := term.OneLine(k.Name, 1<<10)
	switch {
	case name == "" && k.Kind == composition.Tools:
		name = "the agent's own"
	case name == "":
		name = "(no name)"
	}
	if k.Kind == composition.Memory {
		return "  " + clipName(name, room-2, true)
	}
	count := fmt.Sprintf(" (%s)", term.Thousands(k.Count))
	return "  " + term.Clip(name, room-2-len(count)) + count
}

// The columns of what a thing is, and the fewest for its words.
const (
	nameRoom  = 24
	leastRoom = 8
)

// largestRows lists the largest single things.
func largestRows(b *bytes.Buffer, w *composition.Window, s term.Style, width int) {
	fmt.Fprintf(b, "\n%s\n", s.Bold("largest"))
	for _, t := range w.Largest {
		what := strings.TrimSuffix(kindLook[t.Kind].name, "s")
		switch t.Kind {
		case composition.Results:
			what = "result"
		case composition.People, composition.Model:
			what = kindLook[t.Kind].name
		}
		if t.Name != "" {
			what += " " + term.OneLine(t.Name, 40)
		}
		id := ""
		if t.ID > 0 {
			id = fmt.Sprintf("#%d", t.ID)
		}
		text := fmt.Sprintf("%9s %6s %6s  ", term.Thousands(t.Tokens), fmt.Sprintf("%.1f%%", 100*t.Share), id)
		text += term.Pad(term.Clip(what, min(nameRoom, width-len(text))), nameRoom)
		words := strings.TrimSpace(term.OneLine(t.Text, 400))
		if room := width - term.Cells(text) - 2; room < leastRoom || words == "" {
			text = strings.TrimRight(text, " ")
		} else {
			text += "  " + s.Code("2", term.Clip(words, room))
		}
		fmt.Fprintln(b, text)
	}
}

// unusedRows lists the tools that nobody used.
func unusedRows(b *bytes.Buffer, w *composition.Window, s term.Style, width int) {
	if len(w.Unused) == 0 {
		return
	}
	type server struct {
		tokens int
		names  []string
	}
	tokens, servers, order := 0, map[string]*server{}, []string{}
	for _, t := range w.Unused {
		tokens += t.Tokens
		v := servers[t.Server]
		if v == nil {
			v = &server{}
			servers[t.Server], order = v, append(order, t.Server)
		}
		v.tokens += t.Tokens
		name := term.OneLine(t.Name, 60)
		if t.Server != "" {
			name = strings.TrimPrefix(name, "mcp__"+term.OneLine(t.Server, 60)+"__")
		}
		v.names = append(v.names, fmt.Sprintf("%s %s", name, term.Thousands(t.Tokens)))
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(servers[b].tokens, servers[a].tokens) })
	fmt.Fprintf(b, "\n%s\n", s.Bold("never used"))
	for _, l := range term.Wrap(fmt.Sprintf("%s, sent with %s: %s tokens each time, %s in all",
		term.Plural(len(w.Unused), "tool", "tools"),
		map[bool]string{true: "the only call", false: "all " + term.Thousands(w.UnusedCalls) +
			" calls"}[w.UnusedCalls == 1], term.Thousands(tokens), term.Thousands(tokens*w.UnusedCalls)), width, 0) {
		fmt.Fprintln(b, l)
	}
	for _, name := range order {
		v := servers[name]
		title := "MCP server " + term.OneLine(name, 60)
		if name == "" {
			title = "the agent's own"
		}
		title += fmt.Sprintf(" (%d), %s tokens: ", len(v.names), term.Thousands(v.tokens))
		for _, l := range term.Wrap("  "+title+strings.Join(v.names, ", "), width, 4) {
			fmt.Fprintln(b, s.Code("2", l))
		}
	}
}
