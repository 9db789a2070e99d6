package main

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
)

func directivesCommand() *cobra.Command {
	var asJSON bool
	var dismiss int64
	cmd := &cobra.Command{
		Use:   "directives CONVERSATION",
		Short: "List the user's standing instructions",
		Long: `List the standing instructions and preferences of a conversation, oldest first: what
its user said with "always", "never", "from now on", "I prefer", "call me" and the
like. The library shows the newest of them in every view.

--dismiss ends the directives of a message permanently. ID is the number in the list,
which is also that of oriel show. The message itself stays in the history. A number after
a name and "#" belongs to a conversation that this one continues: dismiss it there.

` + meaning,
		Example: `  oriel directives 7f3c2a10-session
  oriel directives 7f3c2a10-session --dismiss 17`,
		Args: oneConversation(1, 1, "one conversation"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().Int64Var(&dismiss, "dismiss", 0, "`id` of the message whose directives are to end")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ending := cmd.Flags().Changed("dismiss")
		all, name := []oriel.Directive{}, ""
		if err := data.withConversation(cmd.Context(), args[0], func(c *oriel.Conversation) error {
			name = c.ID()
			if ending {
				return c.Dismiss(cmd.Context(), dismiss)
			}
			found, err := c.Directives(cmd.Context())
			all = append(all, found...)
			return err
		}); err != nil {
			return err
		}
		switch {
		case ending && asJSON:
			return printJSON(cmd.OutOrStdout(), map[string]any{"conversation": name, "dismissed": dismiss})
		case ending:
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "dismissed %d\n", dismiss)
			return err
		case asJSON:
			return printJSON(cmd.OutOrStdout(), map[string]any{"conversation": name, "directives": all})
		}
		return printDirectives(cmd, name, all)
	}
	return cmd
}

func printDirectives(cmd *cobra.Command, conversation string, all []oriel.Directive) error {
	var b bytes.Buffer
	if len(all) == 0 {
		b.WriteString("no directives\n")
	} else {
		t := table{left: []bool{false, true, true, true}}
		t.row("id", "time", "kind", "text")
		for _, d := range all {
			id := strconv.FormatInt(d.ID, 10)
			if d.Conversation != conversation {
				id = d.Conversation + "#" + id
			}
			t.row(oneLine(id, 40), d.Time.Format("2006-01-02 15:04"), string(d.Kind), oneLine(d.Text, 120))
		}
		t.writeTo(&b)
	}
	_, err := cmd.OutOrStdout().Write(b.Bytes())
	return err
}
