package window

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
)

// relevance evicts the exchanges that matter least until the low mark is reached
// (SPEC A3, A4). An exchange matters as much as its most relevant message.
// Requests carry no times, so a message counts as one minute older than the next;
// ties evict the oldest first.
func relevance(_ context.Context, d *draft, s *Settings) error {
	h := d.h
	now := s.Now
	query := termVector(s.Query)
	score := make([]float64, len(h.Cuts.Exchanges))
	var order []int
	for e, x := range h.Cuts.Exchanges {
		for i := x.Start; i < x.End; i++ {
			item := itemOf(&h.Messages[i])
			item.Time = now.Add(-time.Duration(len(h.Messages)-1-i) * time.Minute)
			score[e] = max(score[e], s.Weights.score(item, now, similarity(query, item.Content)))
		}
		if x.Fixed == "" && !h.pinnedExchange(e) {
			order = append(order, e)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case score[a] < score[b]:
			return -1
		case score[a] > score[b]:
			return 1
		}
		return a - b
	})
	evictInOrder(d, order, s.Low-markerRoom, "least relevant")
	d.mark(s.Budget)
	return nil
}

// itemOf is a message as an item: what it says, who says it, its flags.
func itemOf(m *chat.Message) Item {
	it := Item{Source: sourceOf(m)}
	failed := false
	var text strings.Builder
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == chat.Text || p.Kind == chat.Result {
			text.WriteString(partText(p) + "\n")
		}
		failed = failed || p.Kind == chat.Result && p.IsError
	}
	it.Content = text.String()
	it.Flags = AutoFlags(it.Content, it.Source, failed)
	return it
}

func sourceOf(m *chat.Message) Source {
	switch {
	case m.Role == chat.Tool || m.Role == chat.Function || m.Role == chat.User && !m.Prompts() && len(m.Parts) > 0:
		return SourceTool
	case m.Role == chat.Assistant:
		return SourceAssistant
	case m.Role == chat.System || m.Role == chat.Developer:
		return SourceSystem
	}
	return SourceUser
}
