package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/term"
)

func statuslineCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "statusline",
		Short: "Print one line for an agent's status bar",
		Long: `Print one line for a status bar: the tokens of the newest prompt and the size above
which something is left out, what was left out of that prompt, what the calls of today
cost, and what was saved today.

Claude Code gives its status line command a JSON object on standard input; the line is
then about its own session. Put this into ~/.claude/settings.json:

  {"statusLine": {"type": "command", "command": "oriel statusline"}}

Without such input the line is about the newest call, for tmux and shell prompts.`,
		Example: `  oriel statusline
  echo '{"session_id":"3c546d67-c920-4bd9-ba5b-53ec3bc7d100"}' | oriel statusline
  oriel statusline --json </dev/null`,
		Args: noArguments,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	table, data := addModelTable(cmd), addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		session, err := readSession(cmd.InOrStdin())
		if err != nil {
			return err
		}
		models, err := modelTable(*table)
		if err != nil {
			return err
		}
		midnight, err := report.Since("today", time.Now())
		if err != nil {
			return err
		}
		s := &usage.Status{UnknownModels: []string{}}
		err = data.with(cmd.Context(), func(store tenantStore) error {
			s, err = usage.ReadStatus(cmd.Context(), store, store.tenant,
				usage.StatusOptions{Session: session, Since: midnight, Options: usage.Options{Models: models}})
			if err != nil {
				return &failure{err}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errNoHistory) { // which is what a new user has
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), s)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), statusLine(s, session != ""))
		return err
	}
	return cmd
}

// maxStatusInput bounds what an agent gives a status line command, in bytes.
const maxStatusInput = 1 << 20

// readSession reads the session that an agent names on standard input; empty for none.
func readSession(in io.Reader) (string, error) {
	if term.IsTerminal(in) {
		return "", nil
	}
	text, err := io.ReadAll(io.LimitReader(in, maxStatusInput))
	if err != nil {
		return "", &failure{fmt.Errorf("read standard input: %w", err)}
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", nil
	}
	var told struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal(text, &told); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) { // its text is Go's
			err = errors.New("got " + strings.TrimSpace(wrong.Value+" "+wrong.Field))
		}
		return "", fmt.Errorf(
			"standard input is not the JSON object of a status line (%w): give that, or </dev/null for the newest call",
			err)
	}
	return told.Session, nil
}

// statusLine formats a status for people. own reports that an agent named the session.
func statusLine(s *usage.Status, own bool) string {
	parts := []string{"oriel"}
	switch {
	case s.Conversation == "" && own:
		parts[0] += ": no call of this session yet"
	case s.Conversation == "":
		parts[0] += ": no calls yet"
	default:
		parts[0] += fmt.Sprintf(" %s of %s (%s)", term.Compact(s.Tokens), term.Compact(s.Limit),
			term.Percent(s.Tokens, s.Limit))
	}
	if s.LeftOut > 0 {
		parts = append(parts, term.Compact(s.LeftOut)+" left out")
	}
	switch {
	case s.Cost > 0:
		parts = append(parts, term.Money(s.Cost)+" today")
	case len(s.UnknownModels) > 0:
		parts = append(parts, "no price known")
	}
	if saved := s.Without - s.Cost; saved >= 0.005 {
		parts = append(parts, fmt.Sprintf("%s saved (%.0f%%)", term.Money(saved), 100*saved/s.Without))
	}
	return strings.Join(parts, " · ")
}
