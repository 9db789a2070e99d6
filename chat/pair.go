package chat

// callAt is a call and what became of it.
type callAt struct {
	message int
	// reach is the newest message of a call that the call itself made.
	reach int
	// whole says that nothing answers to the call: the provider ran it.
	whole bool
	// hosted says that the provider runs it and answers in its next message.
	hosted bool
	// pending says of a hosted call that the answer may still come.
	pending bool
	done    bool
}

// link joins the messages of a call and of its result.
type link struct{ call, result int }

// span is a run of messages, last inclusive.
type span struct{ first, last int32 }

// survey counts once what pairing asks again and again, so that a history of any
// shape is paired in time that follows its length.
func (s *splitter) survey() {
	n := len(s.msgs)
	s.runs = make([]span, len(s.out))
	for e := range s.out {
		s.runs[e] = span{int32(s.out[e].Start), int32(s.out[e].End - 1)}
	}
	s.assistants, s.others = make([]int32, n+1), make([]int32, n+1)
	for i := range n {
		s.assistants[i+1], s.others[i+1] = s.assistants[i], s.others[i]
		if s.msgs[i].Role == Assistant {
			s.assistants[i+1]++
		} else if side, _ := s.side(i); side != Returns {
			s.others[i+1]++
		}
	}
	s.nextPlain, s.nextAssistant = make([]int32, n+1), make([]int32, n+1)
	s.nextPlain[n], s.nextAssistant[n] = int32(n), int32(n)
	for i := n - 1; i >= 0; i-- {
		s.nextPlain[i], s.nextAssistant[i] = s.nextPlain[i+1], s.nextAssistant[i+1]
		if s.msgs[i].Role == Assistant {
			s.nextAssistant[i] = int32(i)
		} else {
			s.nextPlain[i] = int32(i)
		}
	}
}

// pair joins results to calls by id.
func (s *splitter) pair() {
	s.byKey, s.last = map[string][]int32{}, map[string]int32{}
	for i := range s.msgs {
		for j := range s.msgs[i].Parts {
			p := &s.msgs[i].Parts[j]
			switch p.Kind {
			case Call:
				s.call(i, p)
			case Result:
				s.answer(i, p)
			case Reference:
				s.references = true
			}
		}
	}
	for i := range s.calls {
		if c := &s.calls[i]; c.hosted && !c.done && !c.whole {
			c.pending = s.pending(c.reach)
		}
	}
}

func (s *splitter) call(i int, p *Part) {
	k := pairKey(p)
	waiting := s.byKey[k]
	if n := len(waiting); n > 0 && p.ID != "" {
		if c := s.calls[waiting[n-1]]; s.of[c.message] == s.of[i] {
			s.same = append(s.same, i)
		}
	}
	if p.Within != "" {
		s.within(i, p)
	}
	s.last[k] = int32(len(s.calls))
	s.calls = append(s.calls, callAt{message: i, reach: i, whole: p.Hosted && p.ID == "", hosted: p.Hosted})
	if p.ID != "" || !p.Hosted {
		s.byKey[k] = append(waiting, s.last[k])
	}
}

// within joins a call to the one that it belongs to.
func (s *splitter) within(i int, p *Part) {
	key := "\x02" + p.Within
	if p.Hosted {
		key = "\x01" + p.Within
	}
	if at, ok := s.last[key]; ok {
		c := &s.calls[at]
		c.reach = i
		s.links = append(s.links, link{c.message, i})
	}
}

// answer gives a result to the newest call of its key that has none.
func (s *splitter) answer(i int, p *Part) {
	k := pairKey(p)
	waiting, known := s.byKey[k]
	if len(waiting) == 0 {
		if known {
			s.twice = append(s.twice, i)
		} else {
			s.stray = append(s.stray, i)
		}
		return
	}
	c := &s.calls[waiting[len(waiting)-1]]
	if s.rules.ResultsFollow && !s.follows(c.reach, i, p.Hosted) {
		s.late = append(s.late, i)
		if s.answered(c.reach, i) {
			return // far too late: the call went without
		}
	}
	c.done = true
	s.byKey[k] = waiting[:len(waiting)-1]
	s.links = append(s.links, link{c.message, i})
}

// pairKey is what joins a call and its result: the id, or in OpenAI's older
// form, which has none, the function's name. Approvals and tools that the
// provider runs have ids of their own kind.
func pairKey(p *Part) string {
	switch {
	case p.Type == "mcp_approval_request" || p.Type == "mcp_approval_response":
		return "\x01" + p.ID
	case p.Hosted && p.ID != "":
		return "\x02" + p.ID
	case p.ID != "":
		return p.ID
	}
	return "\x00" + p.Name
}

// strangers counts the assistant messages between two messages that belong to
// neither's run.
func (s *splitter) strangers(from, to int) int32 {
	n := s.assistants[to] - s.assistants[from+1]
	own := min(s.runs[s.of[from]].last+1, int32(to))
	n -= s.assistants[own] - s.assistants[from+1]
	if s.of[to] != s.of[from] {
		start := max(s.runs[s.of[to]].first, int32(from+1))
		n -= s.assistants[to] - s.assistants[start]
	}
	return n
}

// follows reports whether nobody else speaks between a call and its result, not
// even in the message that holds the result. The provider's own result may wait
// for the user turn that has the client's.
func (s *splitter) follows(call, result int, hosted bool) bool {
	if call == result {
		return true
	}
	if s.rules.RunsMerge && s.strangers(call, result) > 0 || !s.rules.RunsMerge && s.assistants[result] > s.assistants[call+1] {
		return false
	}
	if !hosted {
		return s.others[result] == s.others[call+1] && s.resultsFirst(result)
	}
	// The client's results come first in the user turn that the provider's own
	// result waits for.
	plain := s.nextPlain[call+1]
	return plain >= int32(result) || s.msgs[plain].returns()
}

// resultsFirst reports whether nothing stands before a result in its message.
func (s *splitter) resultsFirst(i int) bool {
	if s.said == nil {
		s.said = make([]int8, len(s.msgs))
	}
	if s.said[i] == 0 {
		s.said[i] = 1
		said := false
		for j := range s.msgs[i].Parts {
			isResult := s.msgs[i].Parts[j].Kind == Result
			if isResult && said {
				s.said[i] = -1
				break
			}
			said = said || !isResult
		}
	}
	return s.said[i] > 0
}

// answered reports whether an assistant has another turn between two messages.
func (s *splitter) answered(from, to int) bool { return s.strangers(from, to) > 0 }

// pending reports whether the provider may still give the result of its own call:
// it waits for results of the client that was called along with it, and the
// assistant's next turn has not come, or is the unfinished end. runs and of are
// those before joining.
func (s *splitter) pending(call int) bool {
	next := s.nextAssistant[s.runs[s.of[call]].last+1]
	plain := s.nextPlain[call+1]
	if plain < next && !s.msgs[plain].returns() {
		return false
	}
	return int(next) == len(s.msgs) || s.of[next] == s.of[len(s.msgs)-1]
}
