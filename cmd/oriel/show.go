package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

// showFlags holds the flags of show.
type showFlags struct {
	from, to, last int64
	branch         int
	plan, sent     string // newest, unless one is named
	diff, calls    bool
	branches, full bool
	json           bool

	whole bool // the messages from to to, whole
}

// newest is the plan or call that is meant where none is named.
const newest = report.Last

func showCommand() *cobra.Command {
	var o showFlags
	cmd := &cobra.Command{
		Use:        "show CONVERSATION [ID | FIRST..LAST | PLAN | CALL…]",
		SuggestFor: []string{"cat", "view", "messages"},
		Short:      "Show the messages of a conversation, its plans, or what was sent",
		Long: `Show the messages of a conversation: id, time, role, tokens of the text (o200k_base), and
its first words. "*" marks pinned messages. Lines that an agent wrote for itself are
"meta" and have no tokens. --branches lists the newest branches, --branch shows one.

With an ID or a range, messages are shown whole. On a terminal long results and arguments
of tools are shortened to their first and last lines, unless --full is given.

--plan   one row for each plan: when it was made, the tokens of the request as it came and
         as it was sent, how many messages left with it, and why; then what the newest
         plan, or the one that is named, holds back, and the digest that stands for it.
         oriel undo takes a plan back
--calls  the calls that were recorded, with their numbers; how much of each the provider read
         from its cache, and how much more it could have read, with the reason why it did not
--sent   the body that was sent at the newest call, or at the one that is named by its
         number or id, byte for byte except for credentials, which are not stored. On a
         terminal it is indented
--diff   what changed between the bodies of two calls: fields, the system prompt, tools and
         messages, with the lines that changed; a few of them, unless --full is given

On a terminal long output goes through $PAGER, or through less.

` + meaning,
		Example: `  oriel show last --last 20
  oriel show 7f3c2a10 17
  oriel show 7f3c2a10 17..21 --full
  oriel show 7f3c2a10 --plan p3
  oriel show 7f3c2a10 --sent 12 > body.json
  oriel show 7f3c2a10 --diff 12 13`,
		Args: oneConversation(1, 3, "a conversation and, if not all of it, what to show"),
	}
	f := cmd.Flags()
	f.StringVar(&o.plan, "plan", "", "show the `plans` that took something out of view, and one of them")
	f.BoolVar(&o.calls, "calls", false, "list the calls that were recorded")
	f.StringVar(&o.sent, "sent", "", "show the body that was sent at a `call`")
	f.Lookup("plan").NoOptDefVal, f.Lookup("sent").NoOptDefVal = newest, newest
	f.BoolVar(&o.diff, "diff", false, "show what changed between the bodies of two calls")
	f.Int64Var(&o.from, "from", 0, "first `id` (default 1)")
	f.Int64Var(&o.to, "to", 0, "last `id` (default: the newest)")
	f.Int64Var(&o.last, "last", 0, "only the newest `n`")
	f.BoolVar(&o.branches, "branches", false, "list the branches below the messages")
	f.IntVar(&o.branch, "branch", 0, "`number` of the branch (default 0, where the conversation stands)")
	f.BoolVar(&o.full, "full", false,
		"show results and arguments of tools whole, all spans of a plan, and all lines of a difference")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	table, data := addModelTable(cmd), addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(args); err != nil {
			return err
		}
		return data.with(cmd.Context(), func(s tenantStore) error {
			c, err := findConversation(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			switch {
			case o.plan != "":
				return showPlans(cmd, s, &c, &o)
			case o.calls:
				return showCalls(cmd, s, &c, &o, *table)
			case o.sent != "":
				return showSent(cmd, s, &c, &o)
			case o.diff:
				return showDiff(cmd, s, &c, args[1:], &o, *table)
			}
			return showMessages(cmd, s, &c, &o, *table)
		})
	}
	return cmd
}

// check reads the arguments after the conversation.
func (o *showFlags) check(args []string) error {
	asked := 0
	for _, is := range []bool{o.plan != "", o.calls, o.sent != "", o.diff} {
		if is {
			asked++
		}
	}
	rest := args[1:]
	switch {
	case o.from < 0 || o.to < 0 || o.last < 0:
		return fmt.Errorf("--from, --to and --last are numbers above 0")
	case o.last > 0 && o.from > 0:
		return fmt.Errorf("--last and --from exclude each other")
	case o.to > 0 && o.to < o.from:
		return fmt.Errorf("--to %d is before --from %d", o.to, o.from)
	case asked > 1:
		return fmt.Errorf("--plan, --calls, --sent and --diff exclude each other")
	case o.diff && len(rest) != 2:
		return fmt.Errorf("--diff wants two calls, such as --diff 12 13: oriel show %s --calls lists them", args[0])
	case o.diff:
		return nil
	case len(rest) > 1 || o.calls && len(rest) > 0:
		return fmt.Errorf("%d arguments: give a conversation and what to show of it; see oriel show --help", len(args))
	case len(rest) == 0:
		return nil
	case o.plan != "":
		return nameOnce(&o.plan, rest[0], "--plan")
	case o.sent != "":
		return nameOnce(&o.sent, rest[0], "--sent")
	case o.from > 0 || o.to > 0 || o.last > 0:
		return fmt.Errorf("%s: give an id, or --from, --to or --last", term.OneLine(rest[0], 40))
	}
	first, last, two := strings.Cut(rest[0], "..")
	if !two {
		last = first
	}
	var err [2]error
	o.from, err[0] = strconv.ParseInt(first, 10, 64)
	o.to, err[1] = strconv.ParseInt(last, 10, 64)
	if err[0] != nil || err[1] != nil || o.from < 1 || o.to < o.from {
		return fmt.Errorf("%q is no id: give the number of a message, such as 17, or 17..21", term.OneLine(rest[0], 40))
	}
	o.whole = true
	return nil
}

// nameOnce sets the value of a flag to the argument that follows it, unless it
// has a value.
func nameOnce(value *string, arg, flag string) error {
	if *value != newest {
		return fmt.Errorf("%s names %s and %s: give one", flag, term.OneLine(*value, 40), term.OneLine(arg, 40))
	}
	*value = arg
	return nil
}

// rangeOf returns the range of ids to show, of n messages.
func (o *showFlags) rangeOf(n int64) (first, last int64) {
	first, last = max(1, o.from), n
	if o.to > 0 {
		last = min(o.to, n)
	}
	if o.last > 0 {
		first = max(1, last-o.last+1)
	}
	return first, last
}

// beforeResults is how many messages before the first one are searched for the calls of its
// results.
const beforeResults = 32

func showMessages(cmd *cobra.Command, s tenantStore, c *timeline.Conversation, o *showFlags, modelFile string) error {
	heads, err := s.Heads(cmd.Context(), s.tenant, c.Name)
	if err != nil {
		return &failure{err}
	}
	head, err := branchHead(heads, o.branch)
	if err != nil {
		return err
	}
	if o.from > head.Depth && (o.whole || !o.json) {
		return fmt.Errorf("no message %d: %s has messages 1 to %d", o.from, wholeID(c.Name), head.Depth)
	}
	var branches []shownBranch
	older := 0
	if o.json || o.branches {
		if branches, older, err = branchesOf(cmd, s, heads); err != nil {
			return err
		}
	}
	reader, err := report.NewReader(cmd.Context(), s, s.tenant, c, head)
	if err != nil {
		return &failure{err}
	}
	var described *report.Conversation
	if o.json {
		if described, err = describeConversation(cmd, s, c, modelFile); err != nil {
			return err
		}
	}
	first, last := o.rangeOf(head.Depth)
	draw := func(out io.Writer, sc term.Screen) error {
		list := newMessageList(out, described, o, sc)
		if o.whole && !o.json { // the calls of the first results
			if err := reader.Read(cmd.Context(), max(1, first-beforeResults), first-1, list.name); err != nil {
				return err
			}
		}
		if err := reader.Read(cmd.Context(), first, last, list.add); err != nil {
			return err
		}
		return list.end(branches, older)
	}
	if o.json {
		err = draw(cmd.OutOrStdout(), term.Screen{})
	} else {
		err = term.Paged(cmd.OutOrStdout(), draw)
	}
	if err != nil {
		return &failure{err}
	}
	return nil
}

// describeConversation describes a conversation as oriel conversations lists it.
func describeConversation(cmd *cobra.Command, s tenantStore, c *timeline.Conversation,
	modelFile string) (*report.Conversation, error) {
	models, err := modelTable(modelFile)
	if err != nil {
		return nil, err
	}
	said, err := timeline.Said(cmd.Context(), s, s.tenant, c)
	if err != nil {
		return nil, &failure{err}
	}
	d := report.Describer{Store: s, Tenant: s.tenant, Models: models}
	described, err := d.Conversation(cmd.Context(), &report.Listed{Conversation: *c, Said: said})
	if err != nil {
		return nil, &failure{err}
	}
	return described, nil
}
