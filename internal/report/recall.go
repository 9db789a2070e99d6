package report

import (
	"slices"

	"github.com/oriel-context/oriel/recall"
)

// Found is what a search found. Its JSON form is that of the API and of oriel recall.
type Found struct {
	Query  string      `json:"query"`
	Mode   recall.Mode `json:"mode"`
	TookMS float64     `json:"took_ms"`
	// Tokens is the size of Text.
	Tokens int `json:"tokens"`
	// Passages are in the order of time.
	Passages []Passage `json:"passages"`
	// Text is what a model would be shown.
	Text string `json:"text"`
	// Unembedded is the number of passages that were searched by words alone, because they
	// have no vector yet.
	Unembedded int `json:"unembedded"`
}

// Passage is a passage with where it stands.
type Passage struct {
	recall.Passage
	// Conversation and ID name the message. Block, an older name, has both.
	Conversation string `json:"conversation"`
	ID           int64  `json:"id"`
	// Words are the words of the query that it contains, as they are written there, 50 at most.
	Words []string `json:"words"`
}

// maxQueryWords is how many words of a query are listed with a passage.
const maxQueryWords = 50

// NewFound returns the JSON form of a result of a search that began in the conversation own.
func NewFound(r *recall.Result, own string) Found {
	words := NewMatcher(r.Query)
	f := Found{Query: r.Query, Mode: r.Mode, TookMS: r.TookMS, Tokens: r.Tokens, Passages: []Passage{}, Text: r.Text,
		Unembedded: r.Unembedded}
	for _, p := range r.Passages {
		f.Passages = append(f.Passages, words.Passage(p, own))
	}
	return f
}

// Passage returns a passage of a search that began in the conversation own, with the words of
// the query.
func (m *Matcher) Passage(p recall.Passage, own string) Passage {
	out := Passage{Passage: p, Words: []string{}}
	out.Conversation, out.ID = Origin(p.Block, own)
	for _, s := range m.Find(p.Text) {
		if word := p.Text[s[0]:s[1]]; len(out.Words) < maxQueryWords && !slices.Contains(out.Words, word) {
			out.Words = append(out.Words, word)
		}
	}
	return out
}
