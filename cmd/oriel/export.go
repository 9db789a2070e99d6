package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
)

func exportCommand() *cobra.Command {
	var branch int
	var null, asJSON bool
	cmd := &cobra.Command{
		Use:   "export CONVERSATION",
		Short: "Write a conversation's messages unchanged",
		Long: `Write the raw messages of a conversation, one per line. Imported files of lines
(claude-code, generic) are written byte for byte, except for blank and broken lines; the
last line always ends with a line feed.

A message that contains line feeds, as in a pretty-printed request body, is written on
one line without them and without the white space around them, which does not change its
JSON value. With --null nothing is changed, and each message ends with a NUL instead.

--branch writes another branch, as oriel show --branches numbers them.

oriel import reads the lines of imported sessions again, but not the bare messages of
recorded calls: oriel copy moves those, with their plans and pins.

` + meaning,
		Example: `  oriel export 7f3c2a10-session > session.jsonl
  oriel export support --null | xargs -0 -n1 echo`,
		Args: oneConversation(1, 1, "one conversation"),
	}
	f := cmd.Flags()
	f.IntVar(&branch, "branch", 0, "`number` of the branch (default 0, where the conversation stands)")
	f.BoolVar(&null, "null", false, "end messages with NUL and change nothing in them")
	// The messages are JSON; the flag is for programs that always pass --json.
	f.BoolVar(&asJSON, "json", false, "print one JSON message per line, which is the default")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if null && asJSON {
			return fmt.Errorf("--null and --json exclude each other")
		}
		return data.with(cmd.Context(), func(s tenantStore) error {
			c, err := findConversation(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			heads, err := s.Heads(cmd.Context(), s.tenant, c.Name)
			if err != nil {
				return &failure{err}
			}
			head, err := branchHead(heads, branch)
			if err != nil {
				return err
			}
			x, err := report.NewExporter(cmd.Context(), s, s.tenant, c.Name, head)
			if err != nil {
				return &failure{err}
			}
			out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
			err = x.Read(cmd.Context(), 1, head.Depth, func(_ int64, raw []byte) error {
				end := byte(0)
				if !null {
					raw, end = report.OnOneLine(raw), '\n'
				}
				_, err := out.Write(raw)
				return errors.Join(err, out.WriteByte(end))
			})
			if err := errors.Join(err, out.Flush()); err != nil {
				return &failure{err}
			}
			return nil
		})
	}
	return cmd
}

// branchHead returns where a branch of a conversation ends; branch 0 is the
// current one.
func branchHead(heads []timeline.Place, branch int) (timeline.Place, error) {
	switch {
	case branch == 0 && len(heads) == 0:
		return timeline.Place{}, nil
	case 0 <= branch && branch < len(heads):
		return heads[branch], nil
	case len(heads) < 2:
		return timeline.Place{}, fmt.Errorf("--branch %d: the conversation has no other branches", branch)
	}
	return timeline.Place{},
		fmt.Errorf("--branch %d: the conversation has branches 0 to %d, oriel show CONVERSATION --branches lists them",
			branch, len(heads)-1)
}
