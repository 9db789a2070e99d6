package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
)

func privateCommand() *cobra.Command {
	var off, asJSON bool
	cmd := &cobra.Command{
		Use:   "private CONVERSATION",
		Short: "Keep a conversation out of recall in other conversations",
		Long: `Keep a conversation out of recall in other conversations: neither a search of its
project or of everything shows it, nor does the first call of a new conversation with
recall.scope = "project". Agents that use MCP neither list nor read it, unless it is their
own. Its own calls recall from it as before. --off takes it back.

` + meaning,
		Example: "  oriel private last\n  oriel private 7f3c2a10-session --off",
		Args:    oneConversation(1, 1, "a conversation"),
	}
	cmd.Flags().BoolVar(&off, "off", false, "let other conversations find it again")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, name := cmd.Context(), ""
		err := data.change(ctx, func(s tenantStore) error {
			c, err := findConversation(ctx, s, args[0])
			if err != nil {
				return err
			}
			name = c.Name
			_, err = s.Apply(ctx, s.tenant, c.PrivateChange(!off, time.Now()))
			return err
		})
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), report.Private{Conversation: name, Private: !off})
		}
		said := "%s is private: other conversations do not find it\n"
		if off {
			said = "%s is not private: other conversations may find it\n"
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), said, term.OneLine(name, 80))
		return err
	}
	return cmd
}
