package window

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/items"
)

// relevance evicts the exchanges that matter least until the low mark is reached
// (SPEC A3, A4). An exchange matters as much as its most relevant message.
// Requests carry no times, so a message counts as one minute older than the next;
// ties evict the oldest first.
func relevance(ctx context.Context, d *draft, s *settings) error {
	h := d.h
	now := s.Now
	all := make([]items.Item, len(h.Messages))
	for i := range h.Messages {
		all[i] = itemOf(&h.Messages[i])
	}
	near := nearness(ctx, all, s)
	score := make([]float64, len(h.Cuts.Exchanges))
	var order []int
	for e, x := range h.Cuts.Exchanges {
		for i := x.Start; i < x.End; i++ {
			all[i].Time = now.Add(-time.Duration(len(h.Messages)-1-i) * time.Minute)
			score[e] = max(score[e], s.Weights.Score(all[i], now, near[i]))
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
	d.readmitLost(s.Low - markerRoom)
	d.mark(s.Budget)
	return nil
}

// Limits of what is embedded for one fit: the newest messages, the beginning
// of each.
const (
	embedMessages = 512
	embedBytes    = 2048
)

// nearness returns how near each item is to the query: by meaning if there is
// a model, by words for items that were not embedded or if the model fails.
func nearness(ctx context.Context, all []items.Item, s *settings) []float64 {
	near := make([]float64, len(all))
	if strings.TrimSpace(s.Query) == "" {
		return near
	}
	first := len(all)
	if s.Embed != nil {
		first = max(0, len(all)-embedMessages)
		texts := []string{s.Query}
		for _, it := range all[first:] {
			texts = append(texts, strings.ToValidUTF8(it.Content[:min(len(it.Content), embedBytes)], ""))
		}
		vectors, err := s.Embed(ctx, texts)
		if err != nil || len(vectors) != len(texts) {
			first = len(all)
		} else {
			for i, v := range vectors[1:] {
				near[first+i] = items.Cosine(vectors[0], v)
			}
		}
	}
	query := termVector(s.Query)
	for i := range first {
		near[i] = similarity(query, all[i].Content)
	}
	return near
}

// itemOf converts a message to an item: its text, source and flags.
func itemOf(m *chat.Message) items.Item {
	it := items.Item{Source: sourceOf(m)}
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
	it.Flags = items.AutoFlags(it.Content, it.Source, failed)
	return it
}

func sourceOf(m *chat.Message) items.Source {
	switch {
	case m.Role == chat.Tool || m.Role == chat.Function || m.Role == chat.User && !m.Prompts() && len(m.Parts) > 0:
		return items.SourceTool
	case m.Role == chat.Assistant:
		return items.SourceAssistant
	case m.Role == chat.System || m.Role == chat.Developer:
		return items.SourceSystem
	}
	return items.SourceUser
}
