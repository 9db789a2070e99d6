package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/oriel-context/oriel/internal/term"
)

// lookEvery is how often watch checks whether the history has changed.
const lookEvery = time.Second

// watch draws on a terminal, now and whenever the history has changed, until ctx ends. A
// history that is not there yet may come, and what cannot be read for once is tried again.
func watch(ctx context.Context, data *history, out io.Writer,
	draw func(context.Context, tenantStore) ([]byte, error)) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	return watchTicks(ctx, data, out, tick.C, draw)
}

// watchTicks is watch with its clock.
func watchTicks(ctx context.Context, data *history, out io.Writer, ticks <-chan time.Time,
	draw func(context.Context, tenantStore) ([]byte, error)) error {
	io.WriteString(out, "\x1b[?1049h") // the terminal's second screen
	var good, last []byte
	defer func() { fmt.Fprintf(out, "\x1b[?1049l%s", good) }()
	for seen := "never"; ; {
		if stamp := data.stamp(); stamp != seen {
			seen = stamp
			screen, err := drawn(ctx, data, draw)
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, errNoHistory):
				screen = []byte("waiting for the first call: " + term.OneLine(err.Error(), maxError) + "\n")
			case err != nil && good == nil:
				return err
			case err != nil: // a server may be at work on the files
				seen, screen = "again", append(bytes.Clone(good), "\noriel: "+term.OneLine(err.Error(), maxError)+
					"\n"...)
			default:
				good = screen
			}
			if !bytes.Equal(screen, last) {
				last = screen
				// Home, each line to its end, and what is below: nothing flickers.
				text := bytes.ReplaceAll(screen, []byte("\n"), []byte("\x1b[K\n"))
				fmt.Fprintf(out, "\x1b[H%s\x1b[J\nCtrl-C ends this", text)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// stamp differs from the last one if the history may have changed, or the day has.
func (h *history) stamp() string {
	if url, err := h.database(); err == nil && url != "" {
		return time.Now().String() // it is not known without asking
	}
	dir, err := h.folder()
	if err != nil {
		return ""
	}
	stamp := time.Now().Format(time.DateOnly)
	for _, name := range []string{"oriel.db", "oriel.db-wal"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			stamp += fmt.Sprintf(" %s %d %d", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp
}

func drawn(ctx context.Context, data *history,
	draw func(context.Context, tenantStore) ([]byte, error)) (screen []byte, err error) {
	err = data.with(ctx, func(s tenantStore) error {
		if screen, err = draw(ctx, s); err != nil {
			return &failure{err}
		}
		return nil
	})
	return screen, err
}
