//go:build fuzz

package importer

import (
	"context"
	"errors"
)

// SQLite takes minutes to build for fuzzing. What the rows of a database have is fuzzed
// without it: see FuzzOpenCodeRows.

func (s *source) sniffDatabase(context.Context) (Format, error) { return Auto, nil }

func (s *source) readDatabase(context.Context, taker) error { return errors.New("no SQLite") }

func (s *source) readRows(context.Context, rowsOf, taker) error { return errors.New("no SQLite") }
