package window

// Kinds of events (SPEC B7). A condensation is a summary that a model was asked for,
// also where that failed; a cut with a digest is a truncation.
const (
	EventTruncation   = "truncation"
	EventCondensation = "condensation"
	EventResize       = "resize"
	EventRecall       = "recall"
	EventPin          = "pin"
	EventUndo         = "undo"
	EventOverflow     = "overflow"
)

// Event is something that happened to a conversation, as data: for logs, metrics
// and callers (SPEC B7).
type Event struct {
	Kind string `json:"kind"`
	// Conversation is whose it is; empty for a request on its own.
	Conversation string  `json:"conversation"`
	Policy       string  `json:"policy,omitempty"`
	TokensBefore int     `json:"tokens_before"`
	TokensAfter  int     `json:"tokens_after"`
	Cost         float64 `json:"cost"`
	// Items are the messages or items that it is about.
	Items int `json:"items,omitempty"`
	// Error says what went wrong, where something did.
	Error string `json:"error,omitempty"`
}

// Event is what a plan did, for those who listen; ok is false where it did
// nothing and nothing failed.
func (p *Plan) Event(conversation string) (e Event, ok bool) {
	e = Event{
		Kind: EventTruncation, Conversation: conversation, Policy: p.Policy,
		TokensBefore: p.TokensBefore, TokensAfter: p.TokensAfter, Cost: p.Summary.Cost, Error: p.Summary.Error,
	}
	for _, b := range p.Blocks {
		if b.Verdict != Keep {
			e.Items++
		}
	}
	if p.Action == "condense" || p.Summary.Error != "" {
		e.Kind = EventCondensation
	}
	return e, p.Action != "none" || p.Summary.Error != ""
}
