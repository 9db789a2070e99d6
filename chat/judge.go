package chat

// Problem is one fault of a history as received.
type Problem struct {
	Message int
	What    string
}

// judge marks broken and open exchanges.
func (s *splitter) judge() {
	last := len(s.out) - 1
	for _, c := range s.calls {
		if c.done || c.whole {
			continue
		}
		e := &s.out[s.of[c.message]]
		switch {
		case int(s.of[c.message]) == last && !s.passedOver(c.message):
			e.Open = true
		case c.hosted && c.pending:
			e.Open, e.Fixed = true, "a call that the provider still runs"
		default:
			s.blame(c.message, "a tool call without its result")
		}
	}
	s.blameAll(s.same, "two tool calls with one id")
	s.blameAll(s.twice, "a tool call with two results")
	s.blameAll(s.late, "a tool result that does not follow its call")
	if !s.references {
		s.blameAll(s.stray, "a tool result without its call")
	}
	for i := range s.msgs {
		if s.msgs[i].endsThinking() && !s.leads(i) {
			s.blame(i, "thinking that led to nothing")
		}
	}
}

// judgeStart marks the replies to a broken beginning as broken: without it they
// would come first, where a user's message is required.
func (s *splitter) judgeStart() {
	i := 0
	for i < len(s.out) && s.out[i].First == Preamble {
		i++
	}
	if i == len(s.out) || s.out[i].First == Turn || s.out[i].Broken == "" {
		return
	}
	for ; i < len(s.out) && (s.out[i].First != Question || s.out[i].Broken != ""); i++ {
		if s.out[i].Broken == "" {
			s.blame(s.out[i].Start, "a reply to what is broken")
		}
		if s.out[i].Fixed != "" {
			return // it stays anyway, so its replies may stay too
		}
	}
}

// passedOver reports whether the assistant continued in another message
// although the protocol requires results first.
func (s *splitter) passedOver(call int) bool {
	return s.rules.ResultsFollow && !s.rules.RunsMerge && s.assistants[len(s.msgs)] > s.assistants[call+1]
}

// leads reports whether a thinking message is followed by more of the same
// reply.
func (s *splitter) leads(i int) bool {
	return i+1 < len(s.msgs) && s.of[i+1] == s.of[i] && s.msgs[i+1].Role == Assistant
}

// judgeReminders marks an exchange as broken if it ends with a system message
// that only broken replies follow: without them the system message would
// precede a user's message, which Anthropic does not allow.
func (s *splitter) judgeReminders() {
	replies, sound := 0, 0 // between exchange i and the next question
	for i := len(s.out) - 1; i >= 0; i-- {
		e := &s.out[i]
		if _, speaks := s.side(e.End - 1); !speaks && e.First != Preamble && replies > 0 && sound == 0 {
			s.blame(e.End-1, "a reminder before broken replies")
		}
		if e.First == Question {
			replies, sound = 0, 0
			continue
		}
		replies++
		if e.Broken == "" || e.Fixed != "" {
			sound++
		}
	}
}

func (s *splitter) blameAll(messages []int, what string) {
	for _, i := range messages {
		s.blame(i, what)
	}
}

func (s *splitter) blame(message int, what string) {
	s.problems = append(s.problems, Problem{message, what})
	if e := &s.out[s.of[message]]; e.Broken == "" {
		e.Broken = what
	}
}
