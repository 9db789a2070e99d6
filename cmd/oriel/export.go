package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/importer"
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
			forms, err := importer.OwnForms(cmd.Context(), s, s.tenant, c.Name)
			if err != nil {
				return &failure{err}
			}
			out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
			err = exportMessages(cmd.Context(), s, head, forms, func(raw []byte) error {
				end := byte(0)
				if !null {
					raw, end = onOneLine(raw), '\n'
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

// exportMessages passes the bytes of each message on the way to a place to
// write, in the conversation's own form if it has one.
func exportMessages(ctx context.Context, s tenantStore, head timeline.Place, forms map[timeline.Place]timeline.Hash, write func([]byte) error) error {
	plain := func(first, last int64) error {
		return s.Messages(ctx, s.tenant, head, first, last, false, func(e *timeline.Entry) error { return write(e.Raw) })
	}
	if len(forms) == 0 {
		return plain(1, head.Depth)
	}
	written := int64(0)
	for first := int64(1); first <= head.Depth; first += exportPage {
		var own []timeline.Place // the messages of the page with a form of their own
		if err := s.Messages(ctx, s.tenant, head, first, first+exportPage-1, true, func(e *timeline.Entry) error {
			if _, ok := forms[e.Place]; ok {
				own = append(own, e.Place)
			}
			return nil
		}); err != nil {
			return err
		}
		for _, p := range own {
			if err := plain(written+1, p.Depth-1); err != nil {
				return err
			}
			raw, err := s.Content(ctx, s.tenant, forms[p])
			if err != nil {
				return err
			}
			if err := write(raw); err != nil {
				return err
			}
			written = p.Depth
		}
	}
	return plain(written+1, head.Depth)
}

// exportPage is how many messages are checked for forms of their own at a
// time.
const exportPage = 512

// branchHead returns where a branch of a conversation ends; branch 0 is the
// current one.
func branchHead(heads []timeline.Place, branch int) (timeline.Place, error) {
	if branch < 0 || branch >= max(1, len(heads)) {
		return timeline.Place{}, fmt.Errorf("--branch %d: the conversation has branches 0 to %d, oriel show --branches lists them", branch, max(1, len(heads))-1)
	}
	if len(heads) == 0 {
		return timeline.Place{}, nil
	}
	return heads[branch], nil
}

// onOneLine removes the line feeds from a JSON text, with the white space
// around them. Strings contain none.
func onOneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 {
		return raw
	}
	var out []byte
	for line := range bytes.Lines(raw) {
		out = append(out, bytes.Trim(line, " \t\r\n")...)
	}
	return out
}
