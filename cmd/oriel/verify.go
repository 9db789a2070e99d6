package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// maxShown is how many problems are listed.
const maxShown = 100

func verifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the history for damage",
		Long: `Check everything: the structure of the file, every content against its hash, the
chain of every history, and every reference and count. It changes nothing, and exits
with 1 if anything is wrong.`,
		Example: `  oriel verify
  oriel verify --data copy --json`,
		Args: noArguments,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		result := verified{Problems: []foundProblem{}}
		checking := false
		err := data.with(cmd.Context(), func(s tenantStore) error {
			checking = true
			p := term.NewProgress(cmd.ErrOrStderr(), "verifying")
			p.Watch(func() (int64, int64) { return 0, 0 })
			err := s.Verify(cmd.Context(), func(found timeline.Problem) {
				result.Found++
				if len(result.Problems) == maxShown {
					return
				}
				one := foundProblem{Tenant: found.Tenant, Conversation: found.Conversation, What: found.What}
				if found.Place != (timeline.Place{}) {
					one.Place = found.Place.String()
				}
				result.Problems = append(result.Problems, one)
			})
			p.End()
			if err != nil {
				return &failure{err}
			}
			stats, err := s.Stats(cmd.Context(), s.tenant)
			if err != nil && result.Found == 0 {
				return &failure{err}
			}
			result.Messages, result.Contents, result.Bytes = stats.Messages, stats.Contents, stats.Bytes
			return nil
		})
		if err != nil && !checking {
			return withinVerify(err)
		}
		return tellVerified(cmd.OutOrStdout(), &result, err, asJSON)
	}
	return cmd
}

// verified is the JSON form of the result.
type verified struct {
	OK       bool           `json:"ok"`
	Found    int            `json:"found"`
	Messages int64          `json:"messages"`
	Contents int64          `json:"contents"`
	Bytes    int64          `json:"bytes"`
	Problems []foundProblem `json:"problems"`
	// Error is why not everything could be checked.
	Error string `json:"error,omitempty"`
}

type foundProblem struct {
	Tenant       string `json:"tenant,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Place        string `json:"place,omitempty"`
	What         string `json:"what"`
}

// tellVerified prints the result, even if err ended the check.
func tellVerified(out io.Writer, result *verified, err error, asJSON bool) error {
	if err = withinVerify(err); err != nil {
		result.Error = err.Error()
	}
	result.OK = result.Found == 0 && err == nil
	if asJSON {
		if err := printJSON(out, result); err != nil {
			return err
		}
	} else {
		for _, p := range result.Problems {
			where := wholeID(p.Conversation)
			if p.Place != "" {
				where += " " + p.Place
			}
			if where != "" {
				where += ": "
			}
			fmt.Fprintf(out, "%s%s\n", where, term.OneLine(p.What, 200))
		}
		if result.OK {
			fmt.Fprintf(out, "all is well: %s, %s in %s\n", term.Plural(int(result.Messages), "message", "messages"),
				term.Bytes(result.Bytes), term.Plural(int(result.Contents), "content", "contents"))
		}
	}
	found := fmt.Sprintf("%s: restore a backup, or export what is intact",
		term.Plural(result.Found, "thing is wrong with the history", "things are wrong with the history"))
	switch {
	case err != nil && result.Found > 0:
		return &failure{fmt.Errorf("%s; not everything could be checked: %w", found, err)}
	case err != nil:
		return &failure{err}
	case result.Found > 0:
		return &failure{errors.New(found)}
	}
	return nil
}

// withinVerify removes the advice to run verify from an error.
func withinVerify(err error) error {
	var of *sqlite.Error
	if !errors.As(err, &of) || !strings.Contains(of.Hint, "oriel verify") {
		return err
	}
	plain := *of
	plain.Hint = "restore a backup, or export what is intact"
	return &failure{&plain}
}
