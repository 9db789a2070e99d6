package chat

import "slices"

// Side is the role at one end of an exchange, as far as the order of roles is
// concerned.
type Side uint8

const (
	// Preamble is the leading run of system messages: anything may follow it.
	Preamble Side = iota
	// Question is a user's message.
	Question
	// Turn is an assistant's message.
	Turn
	// Returns is a tool's result: an assistant must follow.
	Returns
)

// Exchange is a span of messages that stays or leaves as a whole.
type Exchange struct {
	// Start and End are message indices, End exclusive.
	Start, End int
	// First and Last are the sides on which the exchange begins and ends.
	First, Last Side
	// Fixed is the reason why the exchange never leaves; empty if it may leave.
	Fixed string
	// Broken is the reason why the exchange is dropped as soon as anything is
	// cut; empty if it is sound.
	Broken string
	// Open reports that the exchange has calls without results: the newest
	// exchange's, or calls that the provider is still running.
	Open bool
}

// Rules are a protocol's demands beyond the pairing of calls and results.
type Rules struct {
	// ResultsFollow requires results directly after the assistant message that
	// made the calls (Anthropic, Chat).
	ResultsFollow bool
	// RunsMerge reports that consecutive messages of one role count as one
	// (Anthropic), so that an assistant may continue after a call.
	RunsMerge bool
	// Held reports that the provider keeps earlier messages, so that a result
	// may answer a call outside the history.
	Held bool
	// ByName reports that a result without the id of a call answers the first call of its
	// name in the turn before it (Gemini).
	ByName bool
}

// Split divides a history into exchanges, in order and without gaps, and lists
// the history's faults.
func Split(msgs []Message, rules Rules) ([]Exchange, []Problem) {
	s := splitter{msgs: Identified(msgs), rules: rules, references: rules.Held}
	s.group()
	s.survey()
	s.pair()
	s.join()
	s.judge()
	s.fix()
	s.judgeReminders()
	s.judgeStart()
	slices.SortStableFunc(s.problems, func(a, b Problem) int { return a.Message - b.Message })
	return s.out, s.problems
}

// splitter holds the state of one Split.
type splitter struct {
	msgs  []Message
	rules Rules
	// of[i] is the index in out of message i's exchange.
	of  []int32
	out []Exchange
	// runs are the first and last message of each exchange before joining.
	runs []span

	// The number of assistant messages before message i, and of messages by
	// neither an assistant nor a tool.
	assistants, others []int32
	// nextPlain[i] is the first message at or after i that is not an
	// assistant's, nextAssistant[i] the first that is.
	nextPlain, nextAssistant []int32
	// said caches resultsFirst: 1 for true, -1 for false.
	said []int8

	calls []callAt
	// last maps a key to its newest call, answered or not.
	last map[string]int32
	// byKey lists the calls of a key that wait for a result, newest last.
	byKey map[string][]int32
	// batch is the first call of the newest message that has calls.
	batch int
	links []link
	// references reports that the provider may hold calls outside the history.
	references bool

	// stray lists the results without a call, twice the second results of a
	// call, and late the results where the protocol forbids them.
	stray, twice, late []int
	// same lists calls that share an id within their batch.
	same     []int
	problems []Problem
}

// side returns the side of a message; ok is false for a message that merely
// belongs to whatever precedes it.
func (s *splitter) side(i int) (side Side, ok bool) {
	m := &s.msgs[i]
	switch m.Role {
	case User:
		if m.onlyResults() {
			return Returns, true
		}
		return Question, true
	case Assistant:
		return Turn, true
	case Tool, Function:
		return Returns, true
	}
	return Preamble, false
}

// group makes the first division, by role alone.
func (s *splitter) group() {
	s.of = make([]int32, len(s.msgs))
	s.out = make([]Exchange, 0, len(s.msgs)/2+1)
	i := 0
	for i < len(s.msgs) && (s.msgs[i].Role == System || s.msgs[i].Role == Developer) {
		i++
	}
	if i > 0 {
		s.out = append(s.out, Exchange{Start: 0, End: i, Fixed: "system prompt"})
	}
	speaking := Preamble // the last side within the current exchange
	for ; i < len(s.msgs); i++ {
		side, ok := s.side(i)
		attach := len(s.out) > 0 && s.out[len(s.out)-1].First != Preamble
		switch {
		case !ok:
			if !attach { // an unknown item right after the system run
				side = Turn
			}
		case side == Question:
			attach = false
		default:
			// A run of assistant messages, or of results, continues.
			attach = attach && speaking == side && !s.begins(i)
		}
		if !attach {
			s.out = append(s.out, Exchange{Start: i, First: side})
		}
		if ok || !attach {
			speaking = side
			s.out[len(s.out)-1].Last = side
		}
		s.out[len(s.out)-1].End = i + 1
		s.of[i] = int32(len(s.out) - 1)
	}
}

// begins reports whether a reasoning item begins another step of a run whose
// tools the provider executes; what precedes it is then complete.
func (s *splitter) begins(i int) bool {
	if s.msgs[i].Type != "reasoning" || i == 0 {
		return false
	}
	parts := s.msgs[i-1].Parts
	return len(parts) > 0 && parts[0].Kind == Call && parts[0].Hosted && parts[0].ID == ""
}

// join merges everything from a call to its last result into one exchange.
func (s *splitter) join() {
	reach := make([]int32, len(s.out))
	for i := range reach {
		reach[i] = int32(i)
	}
	for _, l := range s.links {
		from, to := s.of[l.call], s.of[l.result]
		reach[from] = max(reach[from], to)
	}
	kept := s.out[:0]
	renamed := make([]int32, len(s.out))
	for i := 0; i < len(reach); {
		end := reach[i]
		for j := int32(i); j <= end; j++ {
			end = max(end, reach[j])
			renamed[j] = int32(len(kept))
		}
		e := s.out[i]
		e.End, e.Last = s.out[end].End, s.out[end].Last
		kept = append(kept, e)
		i = int(end) + 1
	}
	s.out = kept
	for i := range s.of {
		s.of[i] = renamed[s.of[i]]
	}
}

// fix marks the exchanges that never leave.
func (s *splitter) fix() {
	if len(s.out) == 0 {
		return
	}
	if s.references {
		for _, i := range s.stray {
			s.keep(i, "answers what the provider keeps")
		}
	}
	prompted, compacted := false, false
	for i := len(s.msgs) - 1; i >= 0; i-- {
		if !prompted && s.msgs[i].Prompts() {
			prompted = true
			s.keep(i, "last user message")
		}
		for j := range s.msgs[i].Parts {
			p := &s.msgs[i].Parts[j]
			switch p.Kind {
			case Compaction:
				if !compacted {
					compacted = true
					s.keep(i, "newest compaction")
				}
			case Reference:
				s.keep(i, "refers to what the provider keeps")
			case Catalog:
				s.keep(i, "tools that later calls may use")
			case Result:
				for k := range p.Parts {
					if p.Parts[k].Kind == Catalog {
						s.keep(i, "tools that later calls may use")
					}
				}
			}
		}
	}
	s.keep(len(s.msgs)-1, "newest exchange")
	s.fixThinking()
}

// fixThinking keeps the thinking at the start of a running tool loop if the
// newest call has none of its own. Anthropic's models think once per loop by
// default, and the API refuses a loop that begins without that thinking.
func (s *splitter) fixThinking() {
	if !s.rules.RunsMerge {
		return
	}
	newest := len(s.out) - 1
	if s.out[newest].First == Question && newest > 0 {
		newest-- // text after the results belongs to the same turn
	}
	if e := s.out[newest]; e.First != Turn || e.Last == Turn || s.msgs[e.Start].startsThinking() {
		return
	}
	first := newest
	for i := newest - 1; i >= 0; i-- {
		e := s.out[i]
		if e.First == Turn && e.Last != Turn {
			first = i
		} else if e.First != Question || i == 0 || s.out[i-1].Last != Returns {
			break
		}
	}
	if s.msgs[s.out[first].Start].startsThinking() {
		s.keep(s.out[first].Start, "thinking that the running loop began with")
	}
}

// keep marks a message's exchange as fixed.
func (s *splitter) keep(message int, why string) {
	if e := &s.out[s.of[message]]; e.Fixed == "" {
		e.Fixed = why
	}
}
