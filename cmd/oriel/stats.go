package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

func statsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show how large the history is",
		Long: `Show how many conversations, messages, variants, branches, records and contents the
history has, the size of all contents before and after compression, the size of the
vectors for recall, and the size of the files.`,
		Example: `  oriel stats
  oriel stats --json`,
		Args: noArguments,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var n timeline.Stats
		err := data.with(cmd.Context(), func(s tenantStore) error {
			var err error
			if n, err = s.Stats(cmd.Context(), s.tenant); err != nil {
				return &failure{err}
			}
			return nil
		})
		if err := tolerateNone(cmd, err); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), struct {
				Conversations int64 `json:"conversations"`
				Messages      int64 `json:"messages"`
				Variants      int64 `json:"variants"`
				Branches      int64 `json:"branches"`
				Records       int64 `json:"records"`
				Contents      int64 `json:"contents"`
				Bytes         int64 `json:"bytes"`
				Stored        int64 `json:"stored"`
				Derived       int64 `json:"derived"`
				DerivedBytes  int64 `json:"derived_bytes"`
				ExtractBytes  int64 `json:"extract_bytes"`
				Disk          int64 `json:"disk"`
			}{n.Conversations, n.Messages, n.Variants, n.Branches, n.Records, n.Contents, n.Bytes, n.Stored, n.Derived,
				n.DerivedBytes, n.ExtractBytes, n.Disk})
		}
		var b bytes.Buffer
		t := term.Table{Left: []bool{true, false, true}}
		for _, row := range []struct {
			what string
			n    int64
			says string
		}{
			{"conversations", n.Conversations, ""}, {"messages", n.Messages, ""},
			{"variants", n.Variants, "messages that came again in other bytes"},
			{"branches", n.Branches, "beside the main line of a conversation"},
			{"records", n.Records, "calls, plans, pins and other notes"},
			{"contents", n.Contents, "different texts, each stored once"},
		} {
			t.Row(row.what, term.Thousands(int(row.n)), row.says)
		}
		t.Row("bytes", term.Bytes(n.Bytes), "of all contents")
		t.Row("stored", term.Bytes(n.Stored)+share(n.Stored, n.Bytes), "of them after compression")
		t.Row("derived", term.Bytes(n.DerivedBytes)+share(n.DerivedBytes, n.Bytes), "vectors for searches by meaning")
		t.Row("extracts", term.Bytes(n.ExtractBytes)+share(n.ExtractBytes, n.Bytes),
			"words of messages, so that searches begin quickly")
		t.Row("on disk", term.Bytes(n.Disk)+share(n.Disk, n.Bytes), "the whole file, with indexes and free space")
		if sc := term.ScreenOf(cmd.OutOrStdout()); sc.Width > 0 {
			t.Narrow(sc.Width, 2)
		}
		t.Draw(&b)
		_, err = cmd.OutOrStdout().Write(b.Bytes())
		return err
	}
	return cmd
}

func share(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d%%)", 100*part/whole)
}
