package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"sync"

	"github.com/oriel-context/oriel/timeline/internal/migrate"
)

//go:embed migrations/*.sql
var migrations embed.FS

var dialect = migrate.Dialect{
	Begun: "SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'",
	Table: `CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	)`,
}

// up applies the missing migrations in one transaction.
func up(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if err := migrate.Up(ctx, migration{tx}, dialect, files); err != nil {
		return err
	}
	return tx.Commit()
}

// migration implements migrate.Tx.
type migration struct{ tx *sql.Tx }

func (m migration) Exec(ctx context.Context, statements string) error {
	_, err := m.tx.ExecContext(ctx, statements)
	return err
}

func (m migration) Number(ctx context.Context, query string) (n int64, err error) {
	return n, m.tx.QueryRowContext(ctx, query).Scan(&n)
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
