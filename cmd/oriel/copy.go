package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/importer/copier"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// copiedInfo is the JSON form of a copy.
type copiedInfo struct {
	Conversations int  `json:"conversations"`
	Skipped       int  `json:"skipped"`
	Messages      int  `json:"messages"`
	Records       int  `json:"records"`
	Derived       int  `json:"derived"`
	Tokens        int  `json:"tokens"`
	Same          bool `json:"same"`
}

var errSameHistory = errors.New("--from and --to are the same history: name another folder or database to copy it to")

func copyCommand() *cobra.Command {
	var from, to string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "copy --from FOLDER|URL --to URL|FOLDER",
		Short: "Copy the whole history to another folder or database",
		Long: `Copy the whole history, with all tenants, from a data folder to a PostgreSQL database
or back, and compare both byte for byte at the end. It can be interrupted: the next
run goes on where it was, and copies what has changed since. What the target has
beside stays; a conversation that has gone on in the target is not overwritten.

Servers may write to the source meanwhile; run it once more after they have ended.
The target is created if it is not there.`,
		Example: `  oriel copy --from ~/.local/share/oriel --to postgres://oriel@db.internal/oriel
  oriel copy --from "$ORIEL_STORE" --to backup`,
		Args: noArguments,
	}
	cmd.Flags().StringVar(&from, "from", "", "`folder` or URL of the history that is copied")
	cmd.Flags().StringVar(&to, "to", "", "`folder` or URL to copy it to")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if from == "" || to == "" {
			return errors.New("give --from and --to, each a folder or a URL postgres://…; see oriel copy --help")
		}
		if sameFolder(from, to) {
			return errSameHistory
		}
		source, err := openPlace(cmd.Context(), from, true)
		if err != nil {
			return err
		}
		defer source.Close()
		target, err := openPlace(cmd.Context(), to, false)
		if err != nil {
			return err
		}
		return finish(target, nil, func(timeline.Store) error {
			if same, err := sameHistory(cmd.Context(), source, target); err != nil {
				return &failure{err}
			} else if same {
				return errSameHistory
			}
			return copyHistory(cmd, source, target, asJSON)
		})
	}
	return cmd
}

// sameFolder reports whether two folders have the same history, also by links.
func sameFolder(a, b string) bool {
	same := func(x, y string) bool {
		one, err := os.Stat(x)
		two, err2 := os.Stat(y)
		return err == nil && err2 == nil && os.SameFile(one, two)
	}
	return same(a, b) || same(filepath.Join(a, "oriel.db"), filepath.Join(b, "oriel.db"))
}

// sameHistory reports whether two open histories are the same, however they were named.
func sameHistory(ctx context.Context, from, to timeline.Whole) (bool, error) {
	a, ok := from.(*postgres.Store)
	b, ok2 := to.(*postgres.Store)
	if !ok || !ok2 {
		return false, nil
	}
	return a.Same(ctx, b)
}

// openPlace opens the history in a folder or database. One to read must exist.
func openPlace(ctx context.Context, place string, read bool) (timeline.Whole, error) {
	var s timeline.Whole
	var err error
	if postgres.IsURL(place) {
		s, err = postgres.Open(ctx, place, postgres.Options{ReadOnly: read})
	} else {
		s, err = openFolder(ctx, place, sqlite.Options{ReadOnly: read})
	}
	if err != nil {
		return nil, &failure{err}
	}
	return s, nil
}

func copyHistory(cmd *cobra.Command, from, to timeline.Whole, asJSON bool) error {
	p := term.NewProgress(cmd.ErrOrStderr(), "copying")
	done, err := copier.Copy(cmd.Context(), from, to, copier.Options{Progress: p.Update})
	p.End()
	if err != nil {
		return &failure{fmt.Errorf("%w: %s were copied before; the next run goes on there", err,
			term.Plural(done.Messages, "message", "messages"))}
	}
	p = term.NewProgress(cmd.ErrOrStderr(), "comparing")
	found := 0
	err = copier.Compare(cmd.Context(), from, to, p.Update, func(difference string) {
		if found++; found <= maxShown {
			fmt.Fprintf(cmd.ErrOrStderr(), "oriel: %s\n", term.OneLine(difference, maxError))
		}
	})
	p.End()
	if err != nil {
		return &failure{err}
	}
	info := copiedInfo{done.Conversations, done.Skipped, done.Messages, done.Records, done.Derived, done.Tokens,
		found == 0}
	if asJSON {
		err = printJSON(cmd.OutOrStdout(), info)
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, %s copied, %s were there\n",
			term.Plural(info.Conversations, "conversation", "conversations"),
			term.Plural(info.Messages, "message", "messages"),
			term.Plural(info.Skipped, "conversation", "conversations"))
	}
	if err != nil || found == 0 {
		if err == nil && !asJSON {
			fmt.Fprintln(cmd.OutOrStdout(), "the same, byte for byte")
		}
		return err
	}
	return &failure{fmt.Errorf("%s: if the source was written to meanwhile, run it again",
		term.Plural(found, "difference", "differences"))}
}
