package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/oriel-context/oriel/internal/importer/claudecode"
	"github.com/oriel-context/oriel/internal/report/replay/recording"
)

// ClaudeCode reads a Claude Code session as [recording.ClaudeCode] does.
func ClaudeCode(name string, r io.Reader) (*Session, error) {
	s := &Session{Name: name, Format: Anthropic}
	c := recording.NewClaudeCode((*steps)(s))
	if err := readLines(c, r); err != nil {
		return nil, fmt.Errorf("read session %s: %w", name, err)
	}
	if err := c.End(); err != nil {
		return nil, fmt.Errorf("read session %s: %w", name, err)
	}
	if len(s.steps) == 0 {
		return nil, fmt.Errorf("read session %s: %w", name, errNoSession)
	}
	return s, nil
}

var errNoSession = errors.New("no messages in it")

// readLines passes lines on. Only the last may be broken: it may still be in the process of
// being written.
func readLines(c *recording.ClaudeCode, r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<16)
	some := false
	for n := 1; ; n++ {
		text, readErr := in.ReadBytes('\n')
		if readErr != nil && readErr != io.EOF {
			return readErr
		}
		if len(bytes.TrimSpace(text)) > 0 {
			l, err := claudecode.Parse(text)
			if err != nil && readErr == io.EOF && some {
				return nil
			}
			if err == nil {
				err = c.Line(&l)
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
			some = true
		}
		if readErr == io.EOF {
			return nil
		}
	}
}

// steps gathers the steps of a session.
type steps Session

func (s *steps) Says(raw []byte) error {
	s.steps = append(s.steps, step{kind: says, raw: raw})
	return nil
}

func (s *steps) Calls(c recording.Call, reply [][]byte) error {
	u := c.Usage
	one := Request{ID: c.ID, Model: c.Model, At: c.At,
		Usage: Usage{u.Input, u.CacheRead, u.CacheWrite + u.CacheWrite1h, u.Output}}
	var raw []byte
	for _, m := range reply {
		raw = m // there is one
		if err := s.addTools(m); err != nil {
			return err
		}
	}
	s.steps = append(s.steps, step{kind: calls, raw: raw, call: one})
	return nil
}

// addTools adds the tools that a reply calls.
func (s *steps) addTools(reply []byte) error {
	blocks, err := contentOf(reply)
	for _, b := range blocks {
		if b.Tool != "" && !slices.Contains(s.Tools, b.Tool) {
			s.Tools = append(s.Tools, b.Tool)
		}
	}
	return err
}

func (s *steps) Resets() error {
	s.steps = append(s.steps, step{kind: resets})
	return nil
}

func (s *steps) Rewinds(told [][]byte) error {
	s.steps = append(s.steps, step{kind: rewinds, told: told})
	return nil
}

func (s *steps) Ends() error { return nil }

// spoken writes a message of blocks.
func spoken(role string, blocks [][]byte) []byte {
	return concat(`{"role":"`+role+`","content":[`, bytes.Join(blocks, []byte{','}), `]}`)
}

func concat(before string, middle []byte, after string) []byte {
	b := make([]byte, 0, len(before)+len(middle)+len(after))
	b = append(append(b, before...), middle...)
	return append(b, after...)
}

func isString(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '"'
}
