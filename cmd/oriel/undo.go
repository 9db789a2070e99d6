package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

// undoing is an undo as people are asked for it and shown it.
type undoing struct{ report.Undo }

func undoCommand() *cobra.Command {
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "undo CONVERSATION [PLAN]",
		Short: "Restore what a plan left out",
		Long: `Restore everything that a plan left out of the window, and hold it there until oriel
release. PLAN is the newest plan by default; oriel show CONVERSATION --plan lists them. To
make room, the oldest unpinned messages are left out, and no more than necessary; on a
terminal undo asks before it leaves out messages that are newer than the restored ones,
unless --yes is given. If not everything fits, nothing changes; oriel pin restores single
messages. A running server on the same data folder applies the undo from its next call on.

` + meaning,
		Example: `  oriel undo 7f3c2a10-session
  oriel undo 7f3c2a10-session p3 --yes`,
		Args: oneConversation(1, 2, "a conversation and, if not the newest, a plan"),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var u undoing
		if err := data.withConversation(cmd.Context(), args[0], func(c *oriel.Conversation) (err error) {
			plan := ""
			if len(args) > 1 {
				if plan, err = report.FindPlan(cmd.Context(), c, args[1]); err != nil {
					return err
				}
			}
			would, err := c.WouldUndo(cmd.Context(), plan)
			if err != nil {
				return err
			}
			u.Undo = report.NewUndo(c.ID(), &would)
			if u.Newer && !yes && !confirmed(cmd, u.question()) {
				return errNotAgreed
			}
			u.Done = true
			return c.Undo(cmd.Context(), u.Plan)
		}); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), u)
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), u.String())
		return err
	}
	return cmd
}

var errNotAgreed = errors.New("nothing was undone: answer y, or give --yes")

func (u *undoing) question() string {
	return fmt.Sprintf(
		"M%s will be restored (%s tokens), and %s left out (%s tokens), which includes newer ones. Continue?",
		messagesOf(u.BackIDs)[1:], term.Thousands(u.BackTokens), messagesOf(u.LeavesIDs),
		term.Thousands(u.LeavesTokens))
}

func (u *undoing) String() string {
	switch {
	case len(u.BackIDs) == 0:
		return fmt.Sprintf("undone %s: all that it took out is in view, and held until oriel release", u.Plan)
	case len(u.LeavesIDs) == 0:
		return fmt.Sprintf("undone %s: %s will be held in view until oriel release; nothing is left out for them",
			u.Plan, messagesOf(u.BackIDs))
	}
	return fmt.Sprintf("undone %s: %s will be held in view until oriel release; %s will be left out for them", u.Plan,
		messagesOf(u.BackIDs), messagesOf(u.LeavesIDs))
}

// messagesOf names messages by their ranges, or by their number and bounds if there are many
// ranges.
func messagesOf(ids []int64) string {
	if len(ids) == 1 {
		return fmt.Sprintf("message %d", ids[0])
	}
	if ranges := fmt.Sprint(timeline.RangesOf(ids)); len(ranges) <= 40 {
		return "messages " + ranges
	}
	return fmt.Sprintf("messages %d to %d (%d of them)", slices.Min(ids), slices.Max(ids), len(ids))
}

func releaseCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "release CONVERSATION",
		Short: "Stop holding messages that undo restored",
		Long: `End all holds: messages that oriel undo restored may be left out again, unless they are
pinned. Nothing changes before the next cut. released of --json is false if nothing was held.

` + meaning,
		Example: "  oriel release 7f3c2a10-session",
		Args:    oneConversation(1, 1, "one conversation"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, held := "", 0
		if err := data.with(cmd.Context(), func(s tenantStore) error {
			c, err := findConversation(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			holds, err := timeline.Notes{Store: s, Tenant: s.tenant, Conversation: c.Name}.Holds(cmd.Context())
			if err != nil {
				return &failure{err}
			}
			name, held = c.Name, len(holds)
			return nil
		}); err != nil {
			return err
		}
		if err := data.withConversation(cmd.Context(), name,
			func(c *oriel.Conversation) error { return c.Release(cmd.Context()) }); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), report.Released{Conversation: name, Released: held > 0})
		}
		done := "released"
		if held == 0 {
			done = "nothing was held: oriel undo restores what a plan left out, and holds it"
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), done)
		return err
	}
	return cmd
}
