package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// After an upgrade of the program any command works on the history of before, also one that
// only reads, if this user may write to it.
func TestCommandsUpgradeAHistory(t *testing.T) {
	for _, args := range [][]string{{"conversations"}, {"verify"}, {"show", "newer"}, {"usage"}, {"doctor"}} {
		t.Run(args[0], func(t *testing.T) {
			dir := talks(t)
			makeOlder(t, dir)
			code, out, errOut := command(t, append(args, "--data", dir)...)
			if strings.Contains(out+errOut, "version") && args[0] != "doctor" || strings.Contains(out, "must be") ||
				code != 0 && args[0] != "doctor" {
				t.Errorf("exit %d: %s%s", code, out, errOut)
			}
		})
	}
}

func TestAHistoryThatCannotBeUpgradedIsNamed(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	dir := talks(t)
	makeOlder(t, dir)
	if err := os.Chmod(filepath.Join(dir, "oriel.db"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if code, _, errOut := command(t, "conversations", "--data", dir); code != 1 ||
		!strings.Contains(errOut, "of an older version: 1, which must be upgraded to 3") {
		t.Errorf("exit %d: %s", code, errOut)
	}
}

// makeOlder makes a history one of version 1.
func makeOlder(t *testing.T, dir string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "oriel.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("DROP TRIGGER message_deleted; DROP TABLE extract; DROP TABLE token; DELETE FROM goose_db_version WHERE version_id > 1"); err != nil {
		t.Fatal(err)
	}
}
