package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Probe returns the format version of the history in a data folder and checks
// that it can be written to now. It takes and releases the lock of writers,
// for which it waits at most patience and otherwise returns ErrBusy. It
// creates no history and changes nothing.
func Probe(dir string, patience time.Duration) (format int64, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return 0, err
	}
	path := filepath.Join(dir, fileName)
	if err := there(path); err != nil {
		return 0, explain("open", path, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := awaitLog(ctx, path); err != nil {
		return 0, err
	}
	format, err = inspect(path)
	if err != nil {
		return 0, explain("open", path, err)
	}
	c, err := connect(path, "mode=rw")
	if err != nil {
		return format, explain("open", path, err)
	}
	for _, statement := range []string{fmt.Sprintf("PRAGMA busy_timeout=%d", patience.Milliseconds()),
		"BEGIN IMMEDIATE", "CREATE TABLE probe (x)", "ROLLBACK"} {
		if err = c.run(statement); err != nil {
			break
		}
	}
	return format, explain("lock", path, errors.Join(err, c.shut()))
}
