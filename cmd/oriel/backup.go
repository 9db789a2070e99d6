package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline/postgres"
)

func backupCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the whole history to a new file",
		Long: `Write a copy of the whole history to a new file. Other programs may write to the history
meanwhile. If FILE is a folder, the copy is oriel.db in it, so that commands with --data
FILE work on the copy. To restore, put the copy into the data folder as oriel.db.`,
		Example: `  oriel backup history-2026-11-15.db
  mkdir copy && oriel backup copy && oriel verify --data copy`,
		Args: oneConversation(1, 1, "one file"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		url, err := data.database()
		if err != nil {
			return err
		}
		if url != "" {
			return fmt.Errorf("a history in PostgreSQL is backed up by its own programs: pg_dump --format=custom --file %s, with the URL of %s; or copy it to a folder with oriel copy --from URL --to FOLDER", args[0], postgres.Redact(url))
		}
		from, err := data.file()
		if err != nil {
			return err
		}
		path, err := newFile(args[0])
		if err != nil {
			return err
		}
		var bytes int64
		err = data.with(cmd.Context(), func(s tenantStore) error {
			p := term.NewProgress(cmd.ErrOrStderr(), "copying")
			p.Watch(func() (int64, int64) { return fileSize(path), fileSize(from) })
			err := s.Backup(cmd.Context(), path)
			p.End()
			if err != nil {
				return &failure{err}
			}
			bytes = fileSize(path)
			return nil
		})
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), map[string]any{"file": path, "bytes": bytes})
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", term.OneLine(path, maxError), term.Bytes(bytes))
		return err
	}
	return cmd
}

// newFile returns the path of a file that does not exist, in a folder that
// does.
func newFile(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "oriel.db")
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s exists: a backup never overwrites a file, name a new one", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder: create it first", filepath.Dir(path))
	}
	return path, nil
}

// fileSize returns the size of a file, or 0 if it cannot be examined.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
