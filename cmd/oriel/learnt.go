package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/token"
)

// learnt opens what was learnt about providers, in the database or the folder. A server may
// use it at the same time. end must be called.
func (h *history) learnt() (l *token.Learnt, end func(), err error) {
	end = func() {}
	url, err := h.database()
	if err != nil {
		return nil, end, err
	}
	if url == "" {
		dir, err := h.folder()
		if err != nil {
			return nil, end, err
		}
		l, err = token.OpenLearnt(filepath.Join(dir, serve.LearntFile))
		if errors.Is(err, fs.ErrPermission) {
			err = &failure{serve.AnothersFolder(dir)}
		}
		return l, end, err
	}
	s, err := postgres.Open(context.Background(), url, postgres.Options{MustExist: true})
	if errors.Is(err, timeline.ErrNone) {
		return &token.Learnt{Limits: new(token.Limits), Calibration: new(token.Calibration)}, end, nil
	}
	if err != nil {
		return nil, end, err
	}
	l, err = token.OpenLearntAt(serve.LearntOf(s, postgres.Redact(url)))
	return l, func() { s.Close() }, err
}
