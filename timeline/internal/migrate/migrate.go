/*
Package migrate brings the tables of a database to the newest version.

A migration is a file of SQL whose name begins with its number. The table
goose_db_version records the migrations that were applied; it has the form of
github.com/pressly/goose, which created the first histories.
*/
package migrate

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Tx is the transaction in which migrations are applied. The caller commits it.
type Tx interface {
	// Exec executes statements.
	Exec(ctx context.Context, statements string) error
	// Number returns the number that a query selects.
	Number(ctx context.Context, query string) (int64, error)
}

// Dialect holds the two statements that databases write differently.
type Dialect struct {
	// Begun is a query for the number of tables with the name goose_db_version.
	Begun string
	// Table creates that table.
	Table string
}

const current = "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied"

// Version returns the version of the database, 0 for one without tables.
func Version(ctx context.Context, tx Tx, d Dialect) (int64, error) {
	begun, err := tx.Number(ctx, d.Begun)
	if err != nil || begun == 0 {
		return 0, err
	}
	return tx.Number(ctx, current)
}

// Up applies the missing migrations, the files *.sql of a folder.
func Up(ctx context.Context, tx Tx, d Dialect, files fs.FS) error {
	begun, err := tx.Number(ctx, d.Begun)
	if err != nil {
		return err
	}
	if begun == 0 {
		if err := tx.Exec(ctx, d.Table); err != nil {
			return err
		}
		if err := record(ctx, tx, 0); err != nil {
			return err
		}
	}
	found, err := tx.Number(ctx, current)
	if err != nil {
		return err
	}
	names, err := fs.Glob(files, "*.sql") // in the order of their numbers
	if err != nil {
		return err
	}
	for _, name := range names {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return fmt.Errorf("%s: the name of a migration begins with its number: %w", name, err)
		}
		if n <= found {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if err := tx.Exec(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := record(ctx, tx, n); err != nil {
			return err
		}
	}
	return nil
}

func record(ctx context.Context, tx Tx, n int64) error {
	return tx.Exec(ctx, fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, '1')", n))
}
