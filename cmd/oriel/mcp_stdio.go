package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// answeredInput is the standard input of the protocol. At the end of the input it waits
// until every request was answered, so that printf … | oriel mcp prints all answers;
// standard output passes through it for that.
type answeredInput struct {
	ctx  context.Context
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of the line that was read last

	mu       sync.Mutex // protects what follows
	waiting  int        // requests without an answer
	answered chan struct{}
}

// lastAnswers is how long the answers may take after the input has ended.
const lastAnswers = time.Minute

func newAnsweredInput(ctx context.Context, in io.Reader, out io.Writer) *answeredInput {
	return &answeredInput{ctx: ctx, in: bufio.NewReaderSize(in, 64<<10), out: out, answered: make(chan struct{}, 1)}
}

// add counts a message if it is a request (by 1) or an answer (by -1).
func (a *answeredInput) add(line []byte, by int) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 || (m.Method != "") != (by > 0) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting += by; a.waiting <= 0 {
		select {
		case a.answered <- struct{}{}:
		default:
		}
	}
}

// Read reads a part of a line. A line that is longer than the buffer is not counted.
func (a *answeredInput) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		line, err := a.in.ReadSlice('\n')
		if len(line) == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				a.finish()
			}
			return 0, err
		}
		a.add(line, 1)
		a.rest = line
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// finish waits for the answers that are missing.
func (a *answeredInput) finish() {
	end := time.After(lastAnswers)
	for {
		a.mu.Lock()
		waiting := a.waiting
		a.mu.Unlock()
		if waiting <= 0 {
			return
		}
		select {
		case <-a.answered:
		case <-end:
			return
		case <-a.ctx.Done():
			return
		}
	}
}

// Write writes one message.
func (a *answeredInput) Write(p []byte) (int, error) {
	n, err := a.out.Write(p)
	a.add(p, -1)
	return n, err
}

// Close does nothing: the process ends with its input.
func (a *answeredInput) Close() error { return nil }
