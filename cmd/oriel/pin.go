package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

func pinCommand() *cobra.Command {
	return pinning(&cobra.Command{
		Use:   "pin CONVERSATION ID",
		Short: "Keep a message in the window",
		Long: `Keep a message in the window as long as anything else can be left out, and restore it if
it was left out. ID is the number that oriel show prints. A running server on the same
data folder honours the pin from its next call on. A message that cannot fit is refused.

` + meaning,
		Example: "  oriel pin 7f3c2a10-session 17",
	}, "pinned", (*oriel.Conversation).Pin)
}

func unpinCommand() *cobra.Command {
	return pinning(&cobra.Command{
		Use:   "unpin CONVERSATION ID",
		Short: "Stop keeping a pinned message in the window",
		Long: `Stop keeping a pinned message in the window. ID is the number that oriel show prints.

` + meaning,
		Example: "  oriel unpin 7f3c2a10-session 17",
	}, "unpinned", (*oriel.Conversation).Unpin)
}

func pinning(cmd *cobra.Command, done string,
	do func(*oriel.Conversation, context.Context, int64) error) *cobra.Command {
	var asJSON bool
	cmd.Args = oneConversation(2, 2, "a conversation and the id of a message")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := ""
		id, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not an id: give the number that oriel show %s prints", term.OneLine(args[1], 40),
				args[0])
		}
		said := fmt.Sprintf("%s %d", done, id)
		if done == "unpinned" {
			if was, err := data.pinned(cmd.Context(), args[0], id); err != nil {
				return err
			} else if !was {
				said = fmt.Sprintf("%d was not pinned", id)
			}
		}
		if err := data.withConversation(cmd.Context(), args[0], func(c *oriel.Conversation) error {
			name = c.ID()
			return do(c, cmd.Context(), id)
		}); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(),
				report.Pin{Conversation: name, ID: id, Pinned: done == "pinned"})
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
		return err
	}
	return cmd
}

// pinned reports whether a message is pinned.
func (h *history) pinned(ctx context.Context, conversation string, id int64) (yes bool, err error) {
	err = h.with(ctx, func(s tenantStore) error {
		c, err := findConversation(ctx, s, conversation)
		if err != nil {
			return err
		}
		pins, err := timeline.Notes{Store: s, Tenant: s.tenant, Conversation: c.Name}.Pins(ctx)
		yes = slices.ContainsFunc(pins, func(p timeline.Pin) bool { return p.ID == id })
		return err
	})
	return yes, err
}
