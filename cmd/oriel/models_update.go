package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/prices"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/token"
)

// maxChanges bounds the models that updatePrices lists.
const maxChanges = 20

// updatePrices stores the figures of a price file for all commands, and prints what changes.
func updatePrices(cmd *cobra.Command, file string) error {
	path := settings.UserPrices()
	if path == "" {
		return errors.New("there is no place for newer prices, because $HOME is not set")
	}
	s, err := prices.Read(file)
	if err != nil {
		return fmt.Errorf("--update: %w", err)
	}
	if own := token.BuiltinSnapshot(); s.Date < own.Date {
		return fmt.Errorf("--update: %s is of %s; the table of this program, of %s, is newer", file, s.Date, own.Date)
	}
	if s.Ahead(time.Now()) {
		return fmt.Errorf("--update: %s is of %s, a day that has not come, and would count as newer than all later "+
			"files: correct its date", file, s.Date)
	}
	data, err := s.Encode()
	if err != nil {
		return &failure{fmt.Errorf("store newer prices: %w", err)}
	}
	if len(data) > settings.MaxFile {
		return fmt.Errorf("--update: %s has %d models, in %d bytes, and a table has at most %d bytes: is it the right file?",
			file, len(s.Models), len(data), settings.MaxFile)
	}
	before, err := modelTable("")
	if err != nil {
		return err
	}
	after, err := token.Builtin().Update(s)
	if err != nil {
		return fmt.Errorf("--update: %s: %w", file, err)
	}
	if err := replaceFile(path, data); err != nil {
		return &failure{fmt.Errorf("store newer prices: %w", err)}
	}
	_, err = cmd.OutOrStdout().Write(drawChanges(before, after, s, path))
	return err
}

// replaceFile writes a file under another name and renames it, so that readers see the whole
// of one or the other.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".prices-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// drawChanges returns what differs between two tables: prices, windows and new models.
func drawChanges(before, after *token.Models, s token.Snapshot, path string) []byte {
	var b bytes.Buffer
	was := map[string]token.Model{}
	for _, m := range before.All() {
		was[m.ID] = m
	}
	added, changed := 0, 0
	t := term.Table{Left: []bool{true, true, false, false, false}}
	t.Row("model", "", "window", "$ in", "$ out")
	for _, m := range after.All() {
		old, known := was[m.ID]
		what := "changed"
		switch {
		case !known:
			added, what = added+1, "new"
		case old.Window != m.Window || old.MaxOutput != m.MaxOutput || !reflect.DeepEqual(old.Prices, m.Prices):
			changed++
		default:
			continue
		}
		if added+changed <= maxChanges {
			t.Row(term.OneLine(m.ID, 60), what, term.Thousands(m.Window), dollars(m.Prices.Input),
				dollars(m.Prices.Output))
		}
	}
	if added+changed > 0 {
		t.Draw(&b)
		if n := added + changed - maxChanges; n > 0 {
			fmt.Fprintf(&b, "and %d more\n", n)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s of %s: %s changed, %d new\n", term.OneLine(s.Source, 60), s.Date,
		term.Plural(changed, "model", "models"), added)
	fmt.Fprintf(&b, "stored in %s; remove it to go back\n", term.OneLine(path, 200))
	return b.Bytes()
}
