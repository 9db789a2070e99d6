package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	inside "github.com/oriel-context/oriel/internal/engine"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
)

// deletedInfo is the JSON form of a deletion.
type deletedInfo struct {
	Conversation string `json:"conversation"`
	Messages     int    `json:"messages"`
	Contents     int    `json:"contents"`
	Records      int    `json:"records"`
	Bytes        int64  `json:"bytes"`
	Pending      bool   `json:"pending,omitempty"`
}

// pendingNote says that the deleted bytes are still on the disk.
const pendingNote = "its bytes are still in the files, because another process is reading: they go with the next command that writes"

func deleteCommand() *cobra.Command {
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:        "delete CONVERSATION",
		SuggestFor: []string{"rm", "remove"},
		Short:      "Delete a conversation permanently",
		Long: `Delete a conversation, all its branches, and all content that no other conversation
uses. This cannot be undone; oriel export and oriel backup make copies. The command asks
first. Without a terminal it needs --yes, and with --yes it needs the id: the row of a
list or "last" is not enough.

` + meaning,
		Example: "  oriel delete 7f3c2a10-session --yes",
		Args:    oneConversation(1, 1, "one conversation"),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return data.change(cmd.Context(), func(s tenantStore) error {
			c, err := findConversation(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			if _, row := report.Row(args[0]); row && c.Name != args[0] && (yes || !term.IsTerminal(cmd.InOrStdin())) {
				return fmt.Errorf("nothing was deleted: %s may be another conversation in a moment: give the id %s",
					args[0], wholeID(c.Name))
			}
			title, err := titleOf(cmd.Context(), s, c.Name)
			if err != nil {
				return err
			}
			what := wholeID(c.Name)
			if title = term.OneLine(title, 60); title != "" {
				what = fmt.Sprintf("“%s” (%s)", title, what)
			}
			question := fmt.Sprintf("Delete %s with %s permanently?", what,
				term.Plural(int(c.Head.Depth), "message", "messages"))
			if err := confirmDelete(cmd, yes, question); err != nil {
				return err
			}
			engine, err := s.engine(cmd.Context(), oriel.Config{NoEmbed: true})
			if err != nil {
				return err
			}
			gone, err := inside.Of(engine).Delete(cmd.Context(), c.Name)
			if err := errors.Join(err, engine.Close()); err != nil {
				return &failure{err}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), deletedInfo{c.Name, gone.Messages, gone.Contents, gone.Records,
					gone.Bytes, gone.Pending})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "deleted %s: %s, %s of content\n", wholeID(c.Name),
				term.Plural(gone.Messages, "message", "messages"), term.Bytes(gone.Bytes))
			if gone.Pending {
				fmt.Fprintln(cmd.OutOrStdout(), pendingNote)
			}
			return nil
		})
	}
	return cmd
}

// confirmDelete returns an error unless a person confirms the question or yes is set.
func confirmDelete(cmd *cobra.Command, yes bool, question string) error {
	switch {
	case yes:
		return nil
	case !term.IsTerminal(cmd.InOrStdin()):
		return fmt.Errorf("nothing was deleted: without a terminal to ask at, give --yes")
	case !confirmed(cmd, question):
		return fmt.Errorf("nothing was deleted: answer y, or give --yes")
	}
	return nil
}

// confirmed asks a person to confirm. An interrupt is a no. A program whose input is not
// a terminal needs no confirmation.
func confirmed(cmd *cobra.Command, question string) bool {
	in := cmd.InOrStdin()
	if !term.IsTerminal(in) {
		return true
	}
	lines := term.Wrap(question+" [y/N]", term.Width(cmd.ErrOrStderr())-1, 0)
	fmt.Fprint(cmd.ErrOrStderr(), strings.Join(lines, "\n")+" ")
	answer, err := interruptible(cmd.Context(), func() (string, error) { return bufio.NewReader(in).ReadString('\n') })
	if err != nil && err != io.EOF {
		fmt.Fprintln(cmd.ErrOrStderr())
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
