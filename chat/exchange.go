package chat

import "slices"

// Side is the half of a conversation that one end of an exchange belongs to, as
// far as the order of roles goes.
type Side uint8

const (
	// Preamble is the leading system run: anything may follow it.
	Preamble Side = iota
	// Question is a user's message.
	Question
	// Turn is an assistant's message.
	Turn
	// Returns is the result of a tool: an assistant follows.
	Returns
)

// Exchange is a span of messages that stays or leaves as a whole.
type Exchange struct {
	// Start and End are message indices, End exclusive.
	Start, End int
	// First and Last are the sides that the exchange begins and ends on.
	First, Last Side
	// Fixed says why the exchange never leaves; empty when it may.
	Fixed string
	// Broken says why the exchange is not sent once anything is cut; empty when
	// it is sound.
	Broken string
	// Open says that calls have no results yet: those of the newest exchange, or
	// ones that the provider still runs.
	Open bool
}

// Rules are what a protocol demands beyond the pairing of calls and results.
type Rules struct {
	// ResultsFollow says that results must stand directly after the assistant
	// message that called, before anybody else speaks (Anthropic, Chat).
	ResultsFollow bool
	// RunsMerge says that consecutive messages of one role count as one
	// (Anthropic), so that an assistant may say more after a call.
	RunsMerge bool
	// Held says that the provider keeps earlier messages, so that a result may
	// answer a call which is not in the history.
	Held bool
}

// Split divides a history into its exchanges, in order and without gaps, and
// lists what is wrong with it.
func Split(msgs []Message, rules Rules) ([]Exchange, []Problem) {
	s := splitter{msgs: msgs, rules: rules, references: rules.Held}
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
	// of[i] is the exchange of message i; out is what they are.
	of  []int32
	out []Exchange
	// runs are the first and last message of each exchange before joining.
	runs []span

	// What lies before message i: assistant messages, and messages that neither
	// an assistant nor a tool speaks.
	assistants, others []int32
	// nextPlain is the first message from i on that is no assistant's,
	// nextAssistant the first that is.
	nextPlain, nextAssistant []int32
	// said caches resultsFirst: 1 yes, −1 no.
	said []int8

	calls []callAt
	// last is the newest call of a key, answered or not.
	last map[string]int32
	// byKey lists the calls of a key that wait for a result, newest last.
	byKey map[string][]int32
	links []link
	// references says that the provider may hold calls which are not here.
	references bool

	// stray are results that answer nothing, twice are second answers, late are
	// results that stand elsewhere than the protocol demands.
	stray, twice, late []int
	// same are calls with the id of another one of their batch.
	same     []int
	problems []Problem
}

// side tells which side a message is on; ok is false for one that merely
// belongs to whatever stands before it.
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
	speaking := Preamble // who spoke last within the current exchange
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
			// A run of assistant messages, or of results, goes on.
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

// begins reports whether a reasoning item begins another step of a run in which
// the provider runs the tools itself: what came before is whole.
func (s *splitter) begins(i int) bool {
	if s.msgs[i].Type != "reasoning" || i == 0 {
		return false
	}
	parts := s.msgs[i-1].Parts
	return len(parts) > 0 && parts[0].Kind == Call && parts[0].Hosted && parts[0].ID == ""
}

// join makes one exchange of everything from a call to its last result.
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

// fix marks what never leaves.
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

// fixThinking keeps the thinking that a running tool loop began with, where the
// newest call has none of its own: Anthropic, whose models think once a loop
// unless told otherwise, refuses a loop that begins without it.
func (s *splitter) fixThinking() {
	if !s.rules.RunsMerge {
		return
	}
	newest := len(s.out) - 1
	if s.out[newest].First == Question && newest > 0 {
		newest-- // words after the results are part of the same turn
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

// keep fixes the exchange of a message.
func (s *splitter) keep(message int, why string) {
	if e := &s.out[s.of[message]]; e.Fixed == "" {
		e.Fixed = why
	}
}
