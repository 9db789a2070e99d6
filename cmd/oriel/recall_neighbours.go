package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

// neighbours draws the n messages before and after a hit, and none if the conversation was
// deleted meanwhile.
func (d *hitDrawing) neighbours(ctx context.Context, s tenantStore, h *report.Hit,
	n int) (before, after string, err error) {
	if n == 0 {
		return "", "", nil
	}
	c, err := s.Conversation(ctx, s.tenant, h.Conversation)
	var reader *report.Reader
	if err == nil {
		reader, err = report.NewReader(ctx, s, s.tenant, &c, c.Head)
	}
	var lines [2][]string
	if err == nil {
		lines[0], err = d.before(ctx, reader, h.ID-1, n)
	}
	if err == nil {
		lines[1], err = d.after(ctx, reader, h.ID+1, c.Head.Depth, n)
	}
	if errors.Is(err, timeline.ErrNoConversation) || errors.Is(err, timeline.ErrNoPlace) {
		return "", "", nil
	}
	return strings.Join(lines[0], ""), strings.Join(lines[1], ""), err
}

// readBeside is how many messages are read at a time beyond the neighbours asked for: lines
// that an agent wrote for itself stand between them.
const readBeside = 16

// before draws the last n messages up to last.
func (d *hitDrawing) before(ctx context.Context, r *report.Reader, last int64, n int) (lines []string, err error) {
	for last >= 1 && len(lines) < n && err == nil {
		first := max(1, last-int64(n)-readBeside)
		var page []string
		err = r.Read(ctx, first, last, func(m *report.Message) error {
			page = d.neighbour(page, m)
			return nil
		})
		lines = append(page, lines...)
		last = first - 1
	}
	return lines[max(0, len(lines)-n):], err
}

// after draws the first n messages from first on, of which the conversation has end.
func (d *hitDrawing) after(ctx context.Context, r *report.Reader, first, end int64, n int) (lines []string, err error) {
	for first <= end && len(lines) < n && err == nil {
		last := min(end, first+int64(n)+readBeside)
		err = r.Read(ctx, first, last, func(m *report.Message) error {
			lines = d.neighbour(lines, m)
			return nil
		})
		first = last + 1
	}
	return lines[:min(len(lines), n)], err
}

// neighbour adds the beginning of a message to lines, unless an agent wrote it for itself.
func (d *hitDrawing) neighbour(lines []string, m *report.Message) []string {
	if m.Chat == nil {
		return lines
	}
	width := d.screen.Width
	if width == 0 {
		width = 200
	}
	line := fmt.Sprintf("%s%d  %s  %s", margin, m.ID, term.OneLine(m.By, 20), term.OneLine(m.Text, width))
	return append(lines, d.screen.Style.Code("2", term.Clip(line, width))+"\n")
}
