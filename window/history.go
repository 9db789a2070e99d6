package window

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/token"
)

// History is a conversation as a policy sees it. Policies do not change it.
type History struct {
	Messages []chat.Message
	Cuts     *chat.Cuts
	// Tokens holds the size of each message, including what the provider adds.
	Tokens []int
	// Base is what is always sent: system prompt, tools, the frame, and the offset of a
	// calibration, with which it may be below 0.
	Base int
	// Pinned marks the messages that a person or program wants to stay.
	Pinned []bool

	// recallTool is the name of Oriel's recall tool; "" if the request does not have it.
	recallTool string
	// tools reports whether the model has any tool.
	tools bool

	counter *token.Counter
	count   func(string) int
	// exchanges holds the sizes of exchanges, counted on first use.
	exchanges []int
	total     int
	// unsaved is the part of Base that only a draft has; see keepUnsaved.
	unsaved int
	// over holds what the provider adds to each message.
	over []int
	// first is the index of the first prompt plus one, -1 if there is none, 0
	// if not computed yet.
	first int
}

// HistoryOf returns the history of a request whose sizes c has measured.
func HistoryOf(r *chat.Request, rules chat.Rules, c *token.Counter, z token.Sizes) *History {
	n := c.Sum(z)
	h := &History{
		Messages: r.Messages,
		Cuts:     chat.NewCuts(r.Messages, rules),
		Tokens:   c.Added(z, n),
		Base:     n.Total,
		Pinned:   make([]bool, len(r.Messages)),

		recallTool: prompt.FindRecall(r),
		tools:      len(r.Tools) > 0,

		counter: c,
	}
	h.over = make([]int, len(r.Messages))
	for i := range r.Messages {
		h.over[i] = c.Overhead(&r.Messages[i]).Tokens
		h.Tokens[i] += h.over[i]
		h.Base -= h.Tokens[i]
	}
	return h
}

// Total returns the size of the request.
func (h *History) Total() int {
	if h.total == 0 {
		h.total = h.Base - h.unsaved
		for _, t := range h.Tokens {
			h.total += t
		}
	}
	return h.total
}

// keepUnsaved adds tokens to Base that a calibration does not save although messages leave
// (see [token.Counter.Unsaved]), so that the size of a draft is right near its budget. Total
// does not change.
func (h *History) keepUnsaved(tokens int) {
	h.Base += tokens
	h.unsaved += tokens
}

// Count counts a text that would be inserted.
func (h *History) Count(text string) int {
	if h.count != nil {
		return h.count(text)
	}
	return h.counter.Text(text).Tokens
}

// partTokens returns the size of one part of a message.
func (h *History) partTokens(message, part int) int {
	m := &h.Messages[message]
	if h.counter == nil {
		return h.Tokens[message] / max(1, len(m.Parts))
	}
	if len(m.Parts) == 1 {
		return h.Tokens[message] - h.over[message]
	}
	// As a message of its own it is found in the cache.
	p := &m.Parts[part]
	return h.counter.Message(&chat.Message{Role: m.Role, Raw: p.Raw, Parts: m.Parts[part : part+1]}).Tokens
}

// withText returns the size that a part would have with another text.
func (h *History) withText(message, part int, text string) int {
	if h.counter == nil {
		return h.Count(text)
	}
	p := &h.Messages[message].Parts[part]
	return h.counter.Part(&chat.Part{Kind: p.Kind, Type: p.Type, ID: p.ID, Name: p.Name, IsError: p.IsError,
		Text: chat.Quote(text)}).Tokens
}

// withoutArguments returns the size that a call would have without its arguments.
func (h *History) withoutArguments(message, part int) int {
	if h.counter == nil {
		return h.Count(noArguments)
	}
	p := &h.Messages[message].Parts[part]
	return h.counter.Part(&chat.Part{Kind: p.Kind, Type: p.Type, ID: p.ID, Name: p.Name,
		Args: []byte(noArguments)}).Tokens
}

// exchangeTokens returns the size of a whole exchange.
func (h *History) exchangeTokens(e int) int {
	if h.exchanges == nil {
		h.exchanges = make([]int, len(h.Cuts.Exchanges))
		for i, x := range h.Cuts.Exchanges {
			for _, t := range h.Tokens[x.Start:x.End] {
				h.exchanges[i] += t
			}
		}
	}
	return h.exchanges[e]
}

// firstPrompt returns the first message in which a user says something, or -1.
func (h *History) firstPrompt() int {
	if h.first == 0 {
		h.first = -1
		for i := range h.Messages {
			if h.Messages[i].Prompts() {
				h.first = i + 1
				break
			}
		}
	}
	if h.first < 0 {
		return -1
	}
	return h.first - 1
}

// pinnedExchange reports whether an exchange holds a pinned message.
func (h *History) pinnedExchange(e int) bool {
	for i := h.Cuts.Exchanges[e].Start; i < h.Cuts.Exchanges[e].End; i++ {
		if h.Pinned[i] {
			return true
		}
	}
	return false
}

// prompts reports whether an exchange holds anything that a person wrote or attached.
func (h *History) prompts(e int) bool {
	for i := h.Cuts.Exchanges[e].Start; i < h.Cuts.Exchanges[e].End; i++ {
		if h.Messages[i].Prompts() {
			return true
		}
	}
	return false
}
