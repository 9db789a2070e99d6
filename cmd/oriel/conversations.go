package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/timeline"
)

// conversationInfo is what a program is told of a conversation.
type conversationInfo struct {
	Name      string    `json:"name"`
	Messages  int64     `json:"messages"`
	Project   string    `json:"project,omitempty"`
	Continues string    `json:"continues,omitempty"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Revision  int64     `json:"revision"`
}

func infoOf(c *timeline.Conversation) conversationInfo {
	return conversationInfo{
		Name: c.Name, Messages: c.Head.Depth, Project: c.Project, Continues: c.Continues,
		Created: c.Created.UTC(), Updated: c.Updated.UTC(), Revision: c.Revision,
	}
}

func conversationsCommand() *cobra.Command {
	var asJSON bool
	var project string
	cmd := &cobra.Command{
		Use:   "conversations",
		Short: "List the conversations of the history",
		Long: `List the conversations of the history, by name: how many messages each has up to
where it stands now, when it was last changed, and its project.`,
		Example: `  oriel conversations
  oriel conversations --project /src/shop --json`,
		Args: noArguments,
	}
	cmd.Flags().StringVar(&project, "project", "", "only those of this `project`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list := []conversationInfo{}
		err := data.with(cmd.Context(), func(s timeline.Store) error {
			all, err := s.Conversations(cmd.Context(), timeline.Local)
			if err != nil {
				return &failure{err}
			}
			for i := range all {
				if project == "" || all[i].Project == project {
					list = append(list, infoOf(&all[i]))
				}
			}
			return nil
		})
		if err := tolerateNone(cmd, err); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), map[string]any{"conversations": list})
		}
		if len(list) == 0 {
			return nil
		}
		var b bytes.Buffer
		t := table{left: []bool{true, false, true, true}}
		t.row("conversation", "messages", "changed", "project")
		for _, c := range list {
			t.row(oneLine(c.Name, 60), thousands(int(c.Messages)), moment(c.Updated), oneLine(c.Project, 60))
		}
		t.writeTo(&b)
		_, err = cmd.OutOrStdout().Write(b.Bytes())
		return err
	}
	return cmd
}

// noArguments is for commands that take none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q: %s takes no arguments; see %s --help", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}

// tolerateNone says on standard error that there is no history, which is no error
// for commands that list or count.
func tolerateNone(cmd *cobra.Command, err error) error {
	if errors.Is(err, errNoHistory) {
		fmt.Fprintf(cmd.ErrOrStderr(), "oriel: %s\n", oneLine(err.Error(), maxError))
		return nil
	}
	return err
}

// moment is a time as people read it.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}
