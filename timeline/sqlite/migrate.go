package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable records the migrations that were applied to a database. It has
// the form of github.com/pressly/goose, which created the first histories.
const versionTable = `CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	)`

// up applies the missing migrations in one transaction.
func up(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var begun bool
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'").Scan(&begun); err != nil {
		return err
	}
	if !begun {
		if _, err := tx.ExecContext(ctx, versionTable); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)"); err != nil {
			return err
		}
	}
	var found int64
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&found); err != nil {
		return err
	}
	names, err := fs.Glob(migrations, "migrations/*.sql") // in the order of their numbers
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
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)", n); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// schemaQuery lists the elements of a database and the statements that created
// them.
const schemaQuery = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema"

// madeSchema is the schema that the migrations create. Computing it takes as
// long as verifying a small history.
var madeSchema = sync.OnceValues(func() (map[string]string, error) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // every connection has a database of its own
	if err := up(ctx, db); err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, schemaQuery)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		all[name] = text
	}
	return all, rows.Err()
})
