package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/recall"
)

// directivesFlags holds the arguments of directives.
type directivesFlags struct {
	conversation, scope, project string
	dismiss, edit, text          string
	json                         bool
}

func directivesCommand() *cobra.Command {
	var o directivesFlags
	cmd := &cobra.Command{
		Use:        "directives [CONVERSATION]",
		SuggestFor: []string{"rules", "instructions"},
		Short:      "List the user's standing instructions",
		Long: `List the standing instructions and preferences of a conversation, of a project or, which
is the default, of all conversations, oldest first: what users said with "always", "never",
"from now on", "I prefer", "call me" and the like. Instructions are offered to the model
once the message is removed and, with recall.scope = "project", at the start of
other conversations of the project. The library shows the newest in every view. Private
conversations are listed only by their own name.

--edit ID --text TEXT replaces the instructions of a message by a text, --dismiss ID ends
them. ID is the number in the list, which is also that of oriel show, or a conversation,
"#" and the number. The message itself stays in the history as it was said. --edit also
brings back what was dismissed.

` + meaning,
		Example: `  oriel directives 7f3c2a10-session
  oriel directives --project shop
  oriel directives 7f3c2a10-session --dismiss 17
  oriel directives --edit 7f3c2a10#17 --text "Always run make check before a push."`,
		Args: oneConversation(0, 1, "at most one conversation"),
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.scope, "scope", "conversation", "whose, from CONVERSATION on: conversation, project or user")
	f.StringVar(&o.project, "project", "", "list those of this `project`: its path, or the end of it")
	f.StringVar(&o.dismiss, "dismiss", "", "`id` of the message whose directives are to end")
	f.StringVar(&o.edit, "edit", "", "`id` of the message whose directives --text replaces")
	f.StringVar(&o.text, "text", "", "what is offered instead, with --edit")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			o.conversation = args[0]
		}
		if err := o.check(cmd); err != nil {
			return err
		}
		if o.dismiss != "" || o.edit != "" {
			return o.change(cmd, data)
		}
		return data.with(cmd.Context(), func(s tenantStore) error { return o.list(cmd, s) })
	}
	return cmd
}

func (o *directivesFlags) check(cmd *cobra.Command) error {
	switch {
	case !slices.Contains([]string{"conversation", "project", "user"}, o.scope):
		return fmt.Errorf("--scope %s: use conversation, project or user", o.scope)
	case o.conversation != "" && o.project != "":
		return errors.New("a conversation and --project exclude each other")
	case o.conversation == "" && cmd.Flags().Changed("scope") && o.scope != "user":
		return errors.New("no conversation: --scope wants one; --project lists a project")
	case o.dismiss != "" && o.edit != "":
		return errors.New("--dismiss and --edit exclude each other")
	case cmd.Flags().Changed("text") != (o.edit != ""):
		return errors.New("--edit wants --text, and --text wants --edit")
	}
	return nil
}

// message reads the id of a message: a number, or a conversation, "#" and a number.
func (o *directivesFlags) message(flag, text string) (conversation string, id int64, err error) {
	conversation = o.conversation
	number := text
	if i := strings.LastIndexByte(text, '#'); i >= 0 {
		conversation, number = text[:i], text[i+1:]
	}
	if id, err = strconv.ParseInt(number, 10, 64); err != nil || id < 1 {
		return "", 0, fmt.Errorf("--%s %s: give the number of a message, or a conversation, # and a number", flag,
			term.OneLine(text, 60))
	}
	if conversation == "" {
		return "", 0, fmt.Errorf("--%s %d: of which conversation? Give it before the flag, or write CONVERSATION#%d",
			flag, id, id)
	}
	return conversation, id, nil
}

// change edits or dismisses the directives of a message.
func (o *directivesFlags) change(cmd *cobra.Command, data *history) error {
	flag, done, given := "dismiss", "dismissed", o.dismiss
	if o.edit != "" {
		flag, done, given = "edit", "edited", o.edit
	}
	name, id, err := o.message(flag, given)
	if err != nil {
		return err
	}
	if err := data.withConversation(cmd.Context(), name, func(c *oriel.Conversation) error {
		name = c.ID()
		if o.edit != "" {
			return c.EditDirective(cmd.Context(), id, o.text)
		}
		return c.Dismiss(cmd.Context(), id)
	}); err != nil {
		return err
	}
	if o.json {
		return printJSON(cmd.OutOrStdout(), map[string]any{"conversation": name, done: id})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %d\n", done, id)
	return err
}

// listedDirectives is the JSON form of a list.
type listedDirectives struct {
	Conversation string            `json:"conversation,omitempty"`
	Scope        string            `json:"scope,omitempty"`
	Project      string            `json:"project,omitempty"`
	Directives   []oriel.Directive `json:"directives"`
}

func (o *directivesFlags) list(cmd *cobra.Command, s tenantStore) error {
	out, err := o.find(cmd.Context(), s)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(cmd.OutOrStdout(), out)
	}
	short, err := shortIDsFor(cmd.Context(), cmd.OutOrStdout(), s)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(out.draw(short, term.ScreenOf(cmd.OutOrStdout()).Width))
	return err
}

// find reads the directives that are asked for.
func (o *directivesFlags) find(ctx context.Context, s tenantStore) (*listedDirectives, error) {
	w, err := placeWhere(ctx, s, report.Place{Conversation: o.conversation, Project: o.project,
		Reach: recall.Reach(o.scope)})
	out := &listedDirectives{Conversation: w.Conversation, Project: w.Project, Directives: []oriel.Directive{}}
	if errors.Is(err, report.ErrEmpty) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	if w.Reach != recall.ReachConversation {
		out.Scope = string(w.Reach)
	}
	engine, err := s.engine(ctx, oriel.Config{NoEmbed: true})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	all, err := engine.Directives(ctx, w)
	if err != nil {
		return nil, &failure{err}
	}
	out.Directives = append(out.Directives, all...)
	return out, nil
}

// draw lists directives for people in lines of at most width columns, or as wide as they are
// if that is 0.
func (l *listedDirectives) draw(short shortIDs, width int) []byte {
	if len(l.Directives) == 0 {
		return []byte("no directives\n")
	}
	t := term.Table{Left: []bool{false, true, true, true}}
	t.Row("id", "time", "kind", "text")
	for _, d := range l.Directives {
		id := strconv.FormatInt(d.ID, 10)
		if d.Conversation != l.Conversation {
			id = short.of(d.Conversation) + "#" + id
		}
		kind := string(d.Kind)
		if d.Original != "" {
			kind += ", edited"
		}
		t.Row(id, d.Time.Local().Format("2006-01-02 15:04"), kind, term.OneLine(d.Text, 400))
	}
	var b bytes.Buffer
	if width > 0 {
		if t.LastRoom(width) < term.LeastWrapped {
			t.Drop(1) // time
		}
		t.DrawWrapped(&b, width)
	} else {
		t.Draw(&b)
	}
	return b.Bytes()
}
