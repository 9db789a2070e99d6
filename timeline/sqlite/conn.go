package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"github.com/oriel-context/oriel/timeline"
)

// conn is a connection below database/sql, whose locks and conversions would
// cost as much as SQLite itself for a small statement. It serves one goroutine
// at a time. A statement is prepared once per text, and can be open once at a
// time.
type conn struct {
	driver.Conn
	stmts map[string]*stmt
}

type stmt struct {
	driver.StmtExecContext
	driver.StmtQueryContext
	close func() error
	args  []driver.NamedValue
	row   []driver.Value
}

// connect opens path; params are those of a SQLite URI. It never creates a
// file.
func connect(path, params string) (*conn, error) {
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // a Windows drive
	}
	uri := url.URL{Scheme: "file", Path: name, RawQuery: params + "&_error_rc=1"}
	connector, err := sqlite.NewConnector(uri.String())
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, stmts: map[string]*stmt{}}, nil
}

func (c *conn) prepare(query string) (*stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	p, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	s := &stmt{close: p.Close}
	var ok1, ok2 bool
	s.StmtExecContext, ok1 = p.(driver.StmtExecContext)
	s.StmtQueryContext, ok2 = p.(driver.StmtQueryContext)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("the SQLite driver's %T lacks a required method", p)
	}
	c.stmts[query] = s
	return s, nil
}

// bind sets the arguments: int64, string or a non-nil []byte.
func (s *stmt) bind(args []any) []driver.NamedValue {
	s.args = s.args[:0]
	for i, a := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return s.args
}

// exec runs a statement for its effect.
func (c *conn) exec(query string, args ...any) (driver.Result, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), s.bind(args))
}

// insert runs a statement and returns the id of the row.
func (c *conn) insert(query string, args ...any) (int64, error) {
	r, err := c.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// query runs a statement and returns its rows, which the caller closes.
func (c *conn) query(query string, args ...any) (*rows, error) {
	return c.queryContext(context.Background(), query, args...)
}

// queryContext is query for a long statement: it ends with ctx.
func (c *conn) queryContext(ctx context.Context, query string, args ...any) (*rows, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	r, err := s.QueryContext(ctx, s.bind(args))
	if err != nil {
		return nil, err
	}
	if n := len(r.Columns()); len(s.row) != n {
		s.row = make([]driver.Value, n)
	}
	return &rows{rows: r, row: s.row}, nil
}

// one scans the first row of a query, if there is one. scan must not keep
// values other than text and bytes.
func (c *conn) one(query string, scan func(*rows), args ...any) (found bool, err error) {
	r, err := c.query(query, args...)
	if err != nil {
		return false, err
	}
	if r.next() {
		found = true
		scan(r)
	}
	return found, r.shut()
}

// each calls scan for every row of a query.
func (c *conn) each(query string, scan func(*rows), args ...any) error {
	r, err := c.query(query, args...)
	if err != nil {
		return err
	}
	for r.next() {
		scan(r)
	}
	return r.shut()
}

// number returns a single number.
func (c *conn) number(query string, args ...any) (n int64, found bool, err error) {
	found, err = c.one(query, func(r *rows) { n = r.integer(0) }, args...)
	return n, found, err
}

func (c *conn) shut() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.close())
	}
	return errors.Join(append(errs, c.Close())...)
}

// rows is the result of a query.
type rows struct {
	rows driver.Rows
	row  []driver.Value
	err  error
}

func (r *rows) next() bool {
	if r.err != nil {
		return false
	}
	r.err = r.rows.Next(r.row)
	return r.err == nil
}

// failed returns the error that ended the rows early.
func (r *rows) failed() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

func (r *rows) shut() error {
	err := r.rows.Close()
	if failed := r.failed(); failed != nil {
		return failed
	}
	return err
}

// end closes the rows and stores the first error in err.
func (r *rows) end(err *error) {
	if failed := r.shut(); *err == nil {
		*err = failed
	}
}

func (r *rows) integer(i int) int64 {
	n, _ := r.row[i].(int64)
	return n
}

func (r *rows) text(i int) string {
	s, _ := r.row[i].(string)
	return s
}

// bytes returns a copy of a column, which the caller owns.
func (r *rows) bytes(i int) []byte {
	b, _ := r.row[i].([]byte)
	return b
}

// hash returns a column that must be a hash. Anything else ends the rows with
// timeline.ErrDamaged; callers that continue before closing the rows must
// check failed.
func (r *rows) hash(i int) (h timeline.Hash) {
	b := r.bytes(i)
	if len(b) != len(h) {
		if r.err == nil {
			r.err = fmt.Errorf("%w: a hash of %d bytes", timeline.ErrDamaged, len(b))
		}
		return timeline.Hash{}
	}
	return timeline.Hash(b)
}

// run runs a statement once, such as a pragma.
func (c *conn) run(query string) error {
	s, err := c.Prepare(query)
	if err != nil {
		return err
	}
	e, ok := s.(driver.StmtExecContext)
	if !ok {
		return fmt.Errorf("the SQLite driver's %T lacks a required method", s)
	}
	_, err = e.ExecContext(context.Background(), nil)
	return errors.Join(err, s.Close())
}

// connector provides database/sql, which the migrations need, with our
// connections.
type connector struct{ path string }

func (k connector) Connect(context.Context) (driver.Conn, error) {
	c, err := connect(k.path, "mode=rw")
	if err != nil {
		return nil, err
	}
	for _, pragma := range []string{"PRAGMA busy_timeout=10000", "PRAGMA foreign_keys=1", "PRAGMA secure_delete=1",
		"PRAGMA synchronous=NORMAL"} {
		if err := c.run(pragma); err != nil {
			return nil, errors.Join(err, c.shut())
		}
	}
	return c.Conn, nil
}

func (k connector) Driver() driver.Driver { return &sqlite.Driver{} }
