package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/record"
)

func undoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "undo CONVERSATION [PLAN]",
		Short: "Bring back what a plan took out of view",
		Long: `Bring back everything that a plan took out of view, and hold it there until oriel
release. PLAN is the newest one unless it is named; oriel show --plan lists them. If
not all of it fits, nothing changes: oriel pin brings back single messages. A server
that runs on the same data folder minds it from its next call on.`,
		Example: `  oriel undo 7f3c2a10-session
  oriel undo 7f3c2a10-session p3`,
		Args: oneConversation(1, 2, "a conversation and, if not the newest, a plan"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		plan := ""
		if len(args) > 1 {
			plan = args[1]
		}
		if err := data.eitherConversation(cmd.Context(), args[0], true, func(c *record.Conversation) (err error) {
			plan, err = c.Undo(cmd.Context(), plan, time.Now())
			return err
		}, func(c *oriel.Conversation) error {
			if plan == "" {
				newest, err := c.Plans(cmd.Context(), 1)
				if err != nil {
					return err
				}
				if len(newest) == 0 {
					return fmt.Errorf("undo: %w: nothing has left the view of %q, so there is nothing to bring back", oriel.ErrNoPlan, args[0])
				}
				plan = newest[0].Undo
			}
			return c.Undo(cmd.Context(), plan)
		}); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), map[string]any{"conversation": args[0], "undone": plan})
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "undone %s: what it took out is held in view until oriel release\n", plan)
		return err
	}
	return cmd
}

func releaseCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "release CONVERSATION",
		Short: "Let what undo brought back leave in its turn",
		Long: `End all holds: what oriel undo brought back may leave in its turn, except what is
pinned. Nothing leaves at once.`,
		Example: "  oriel release 7f3c2a10-session",
		Args:    oneConversation(1, 1, "one conversation"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := data.eitherConversation(cmd.Context(), args[0], true, func(c *record.Conversation) error {
			return c.Release(cmd.Context(), time.Now())
		}, func(c *oriel.Conversation) error {
			return c.Release(cmd.Context())
		}); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), map[string]any{"conversation": args[0], "released": true})
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "released")
		return err
	}
	return cmd
}
