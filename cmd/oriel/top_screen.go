package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/oriel-context/oriel/internal/term"
)

// topScreen runs a model on a terminal.
type topScreen struct {
	model  *topModel
	client *topClient
	in     *os.File
	out    *os.File
	news   chan func(*topModel) topJob
	drawn  string
}

const (
	// enterScreen switches to the other screen, without a cursor and without wrapping;
	// leaveScreen takes it back.
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	// resizeEvery is how often the size of the terminal is read.
	resizeEvery = 250 * time.Millisecond
	// reconnectEvery is how often a server that is gone is asked again.
	reconnectEvery = 2 * time.Second
)

// run shows the screen until the user quits, ctx ends or a signal comes. However it ends,
// also by a panic, the terminal is as it was before.
func (s *topScreen) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	restore, err := term.Raw(s.in)
	if err != nil {
		return &failure{fmt.Errorf("read keys of the terminal: %w", err)}
	}
	defer func() {
		io.WriteString(s.out, leaveScreen)
		restore()
	}()
	io.WriteString(s.out, enterScreen)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	keys := make(chan string)
	go term.ReadKeys(s.in, func(k string) bool {
		select {
		case keys <- k:
			return true
		case <-ctx.Done():
			return false
		}
	})
	changed := make(chan struct{}, 1)
	go s.followServer(ctx, changed)
	sizes := time.NewTicker(resizeEvery)
	defer sizes.Stop()
	s.do(ctx, refreshTop)
	for !s.model.quit {
		s.draw()
		select {
		case k := <-keys:
			s.do(ctx, s.model.key(k))
		case change := <-s.news:
			s.do(ctx, change(s.model))
		case <-changed:
			s.do(ctx, refreshTop)
		case <-sizes.C:
			if w, h, err := term.Size(s.out); err == nil {
				s.model.width, s.model.height = w, h
			}
		case <-signals:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// do runs a job in the background; its news come back to the model's goroutine.
func (s *topScreen) do(ctx context.Context, job topJob) {
	if job == nil {
		return
	}
	go func() {
		change := func(m *topModel) topJob { return nil }
		func() {
			defer func() {
				if p := recover(); p != nil { // it would end the program with the terminal as it is
					change = func(m *topModel) topJob { panic(p) }
				}
			}()
			change = job(ctx, s.client)
		}()
		select {
		case s.news <- change:
		case <-ctx.Done():
		}
	}()
}

// followServer reports changes of the server, and asks for it again while it is gone.
func (s *topScreen) followServer(ctx context.Context, changed chan<- struct{}) {
	tell := func() {
		select {
		case changed <- struct{}{}:
		default: // it is shown already
		}
	}
	for {
		err := s.client.follow(ctx, tell)
		select {
		case s.news <- func(m *topModel) topJob { m.gone = err.Error(); return nil }:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(reconnectEvery):
		case <-ctx.Done():
			return
		}
	}
}

// draw writes the screen if it has changed.
func (s *topScreen) draw() {
	frame := "\x1b[H\x1b[2K" + strings.Join(s.model.view(), "\r\n\x1b[2K")
	if frame != s.drawn {
		s.drawn = frame
		io.WriteString(s.out, frame)
	}
}
