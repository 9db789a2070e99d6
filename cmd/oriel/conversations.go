package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// listFlags holds the flags of conversations.
type listFlags struct {
	project, since, search string
	limit                  int
	json                   bool
}

func conversationsCommand() *cobra.Command {
	var o listFlags
	cmd := &cobra.Command{
		Use:        "conversations",
		SuggestFor: []string{"list", "ls", "sessions", "history"},
		Short:      "List the conversations of the history, newest first",
		Long: `List the conversations of the history, the one that was used last first: when its
last message was said, how many messages it has, the tokens of its newest request (of an
imported session, of its messages by o200k_base), what its calls cost, the model that was
asked last, the project, and a title. The title is that of the agent's own file, or the
first words of the person.

Other commands take the number of the row or the beginning of the id. The cost is an
estimate from the usage that the provider reported, also of imported sessions of Claude
Code; "+" says that some calls have no price. A narrow terminal shows fewer columns;
--json has all.

--search lists conversations in which all words occur: in the title, the id, the project,
or anything that was said. oriel recall finds the passages.`,
		Example: `  oriel conversations
  oriel conversations --search "port database" --since 30d
  oriel conversations --project shop --limit 5 --json`,
		Args: noArguments,
	}
	f := cmd.Flags()
	f.StringVar(&o.project, "project", "", "only those of this `project`: its path, or the end of it")
	f.StringVar(&o.since, "since", "", "only those with a message since "+sinceHelp)
	f.StringVar(&o.search, "search", "", "only those in which all these `words` occur")
	f.IntVar(&o.limit, "limit", 0, "at most `n` (default 20, with --json all)")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	table, data := addModelTable(cmd), addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		models, err := modelTable(*table)
		if err != nil {
			return err
		}
		list, more, short := []report.Conversation{}, 0, shortIDs(nil)
		err = data.with(cmd.Context(), func(s tenantStore) (err error) {
			if list, more, err = o.find(cmd.Context(), s, models, cmd.Flags().Changed("limit")); err != nil || o.json {
				return err
			}
			short, err = shortIDsFor(cmd.Context(), cmd.OutOrStdout(), s)
			return err
		})
		if err := tolerateNone(cmd, err); err != nil {
			return err
		}
		if o.json {
			return printJSON(cmd.OutOrStdout(), map[string]any{"conversations": list})
		}
		return o.printList(cmd.OutOrStdout(), list, more, short)
	}
	return cmd
}

// defaultRows is how many conversations are listed by default.
const defaultRows = 20

// find lists what the flags ask for, and counts what the limit leaves out.
func (o *listFlags) find(ctx context.Context, s tenantStore, models *token.Models,
	limited bool) (list []report.Conversation, more int, err error) {
	from := time.Time{}
	if o.since != "" {
		if from, err = report.Since(o.since, time.Now()); err != nil {
			return nil, 0, fmt.Errorf("--since: %w", err)
		}
	}
	switch {
	case o.limit < 0 || limited && o.limit == 0:
		return nil, 0, fmt.Errorf("--limit %d: give a number above 0", o.limit)
	case !limited && o.json:
		o.limit = int(^uint(0) >> 1)
	case !limited:
		o.limit = defaultRows
	}
	all, err := report.Conversations(ctx, s, s.tenant)
	if err != nil {
		return nil, 0, &failure{err}
	}
	chosen, err := report.Choose(all, o.project, from)
	if err != nil {
		return nil, 0, err
	}
	words := strings.Fields(o.search)
	if len(words) == 0 && len(chosen) > o.limit {
		more = len(chosen) - o.limit
		chosen = chosen[:o.limit]
	}
	describer := report.Describer{Store: s, Tenant: s.tenant, Models: models}
	list, err = describer.All(ctx, chosen, words...)
	if err != nil {
		return nil, 0, &failure{err}
	}
	if len(list) > o.limit {
		more = len(list) - o.limit
		list = list[:o.limit]
	}
	return list, more, nil
}

// shortIDs are the ids of conversations as a terminal is shown them; see report.Short.
type shortIDs map[string]string

// shortIDsFor shortens the ids of all conversations of the history if out is a terminal.
// Others are shown whole ids.
func shortIDsFor(ctx context.Context, out io.Writer, s tenantStore) (shortIDs, error) {
	if !term.IsTerminal(out) {
		return nil, nil
	}
	all, err := s.Conversations(ctx, s.tenant)
	if err != nil {
		return nil, &failure{err}
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return report.Short(names), nil
}

// of returns the id of a conversation that commands accept: the whole one if no shorter one
// is known.
func (short shortIDs) of(name string) string { return wholeID(cmp.Or(short[name], name)) }

// titleOf returns the title of a conversation, which is empty if that was deleted meanwhile.
func titleOf(ctx context.Context, s tenantStore, name string) (string, error) {
	c, err := s.Conversation(ctx, s.tenant, name)
	if errors.Is(err, timeline.ErrNoConversation) {
		return "", nil
	}
	title := ""
	if err == nil {
		title, err = report.Title(ctx, s, s.tenant, &c)
	}
	if err != nil {
		return "", &failure{err}
	}
	return title, nil
}

// titled returns an id with as much of a title as fits into width columns. It shortens no id,
// and leaves a title out of which only a few letters would be seen.
func titled(id, title string, width int) string {
	left := width - term.Cells(id) - len("  ")
	if title == "" || left < min(8, term.Cells(title)) {
		return id
	}
	return id + "  " + term.Clip(title, left)
}

// printList prints conversations; short has their ids for terminals.
func (o *listFlags) printList(out io.Writer, list []report.Conversation, more int, short shortIDs) error {
	if len(list) == 0 {
		if o.search != "" || o.since != "" {
			_, err := fmt.Fprintln(out, "no conversation found")
			return err
		}
		return nil
	}
	_, err := out.Write(drawList(list, more, short, term.ScreenOf(out).Width))
	return err
}

// drawList draws conversations in lines of at most width columns, or as wide as they are if
// that is 0.
func drawList(list []report.Conversation, more int, short shortIDs, width int) []byte {
	t := term.Table{Left: []bool{false, true, true, false, false, false, true, true, true}}
	t.Row("", "id", "last", "messages", "tokens", "cost", "model", "project", "title")
	now := time.Now()
	for i := range list {
		c := &list[i]
		t.Row(strconv.Itoa(c.Row), short.of(c.ID), term.Ago(c.Last, now), term.Thousands(int(c.Messages)),
			term.Roughly(c.TokensBefore), costOf(c),
			term.OneLine(shortModel(c.Model), 20), term.OneLine(shortProject(c.Project), 20),
			cmp.Or(term.OneLine(c.Title, 200), "(no words of a person)"))
	}
	if width > 0 {
		if width < 60 {
			t.Narrow(0, 5, 4) // cost, tokens
			t.Fit(width, leastTitle, 5, 4, 3)
		} else {
			t.Fit(width, leastTitle, 7, 6, 3) // project, model, messages
		}
	}
	var b bytes.Buffer
	t.Draw(&b)
	if more > 0 {
		fmt.Fprintf(&b, "\n%s more: --limit %d lists all, --search, --project and --since choose\n",
			term.Thousands(more), more+len(list))
	}
	return b.Bytes()
}

// leastTitle is how many columns a title gets before others are left out.
const leastTitle = 36

// costOf writes what the calls of a conversation cost.
func costOf(c *report.Conversation) string {
	if c.Calls+c.Imported == 0 {
		return ""
	}
	return priced(c.Cost, c.UnknownModels)
}

// priced returns a sum of money that leaves out the calls of models without a known price:
// with "+" behind it, or "?" if all calls were left out.
func priced(sum float64, unknown []string) string {
	switch {
	case len(unknown) > 0 && sum == 0:
		return "?"
	case len(unknown) > 0:
		return term.Money(sum) + "+"
	}
	return term.Money(sum)
}

// dated is the date at the end of a model's name.
var dated = regexp.MustCompile(`-?(20\d{6}|20\d\d-\d\d-\d\d)$`)

// shortModel returns a model's name without vendor and date.
func shortModel(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimPrefix(dated.ReplaceAllString(name, ""), "claude-")
}

// shortProject returns the last element of a project's path, or the last two if that one is
// short.
func shortProject(project string) string {
	parts := strings.FieldsFunc(project, func(r rune) bool { return r == '/' || r == '\\' })
	n := 1
	if len(parts) > 1 && len(parts[len(parts)-1]) < 3 {
		n = 2
	}
	return strings.Join(parts[max(0, len(parts)-n):], "/")
}

// noArguments is for commands that take no arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q: %s takes no arguments; see %s --help", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}

// tolerateNone reports a missing history on standard error and returns nil:
// commands that list or count do not fail because of it.
func tolerateNone(cmd *cobra.Command, err error) error {
	if errors.Is(err, errNoHistory) {
		fmt.Fprintf(cmd.ErrOrStderr(), "oriel: %s\n", term.OneLine(err.Error(), maxError))
		return nil
	}
	return err
}
