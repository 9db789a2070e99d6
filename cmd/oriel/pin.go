package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
)

func pinCommand() *cobra.Command {
	return pinning(&cobra.Command{
		Use:   "pin CONVERSATION ID",
		Short: "Keep a message in view",
		Long: `Keep a message in view as long as anything else can leave, and bring it back if it
has left. ID is the number that oriel show prints. A server that runs on the same
data folder honours it from its next call on. What cannot fit is refused.

` + meaning,
		Example: "  oriel pin 7f3c2a10-session 17",
	}, "pinned", (*oriel.Conversation).Pin)
}

func unpinCommand() *cobra.Command {
	return pinning(&cobra.Command{
		Use:   "unpin CONVERSATION ID",
		Short: "Let a pinned message leave in its turn",
		Long: `Let a pinned message leave in its turn. ID is the number that oriel show prints.

` + meaning,
		Example: "  oriel unpin 7f3c2a10-session 17",
	}, "unpinned", (*oriel.Conversation).Unpin)
}

func pinning(cmd *cobra.Command, done string, do func(*oriel.Conversation, context.Context, int64) error) *cobra.Command {
	var asJSON bool
	cmd.Args = oneConversation(2, 2, "a conversation and the id of a message")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := ""
		id, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not an id: give the number that oriel show %s prints", oneLine(args[1], 40), args[0])
		}
		if err := data.withConversation(cmd.Context(), args[0], func(c *oriel.Conversation) error {
			name = c.ID()
			return do(c, cmd.Context(), id)
		}); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), map[string]any{"conversation": name, "id": id, "pinned": done == "pinned"})
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %d\n", done, id)
		return err
	}
	return cmd
}
