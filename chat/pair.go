package chat

// callAt is a call and what became of it.
type callAt struct {
	message int
	// whole says that nothing answers to the call: the provider ran it.
	whole bool
	// hosted says that the provider runs it and answers in its next message.
	hosted bool
	done   bool
}

// link joins the messages of a call and of its result.
type link struct{ call, result int }

// pair joins results to calls by id.
func (s *splitter) pair() {
	s.byKey = map[string][]int32{}
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
}

func (s *splitter) call(i int, p *Part) {
	k := pairKey(p)
	waiting := s.byKey[k]
	if n := len(waiting); n > 0 && p.ID != "" {
		if c := s.calls[waiting[n-1]]; s.of[c.message] == s.of[i] {
			s.same = append(s.same, i)
		}
	}
	s.byKey[k] = append(waiting, int32(len(s.calls)))
	s.calls = append(s.calls, callAt{message: i, whole: p.Hosted && p.ID == "", hosted: p.Hosted})
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
	if s.rules.ResultsFollow && !s.follows(c.message, i, p.Hosted) {
		s.late = append(s.late, i)
		if s.answered(c.message, i) {
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

// follows reports whether nobody else speaks between a call and its result, not
// even in the message that holds the result. The provider's own result may wait
// for the user turn that has the client's.
func (s *splitter) follows(call, result int, hosted bool) bool {
	if call == result {
		return true
	}
	returned := false
	for i := call + 1; i < result; i++ {
		m := &s.msgs[i]
		if s.rules.RunsMerge && m.Role == Assistant && (s.of[i] == s.of[call] || s.of[i] == s.of[result]) {
			continue
		}
		returned = returned || m.returns()
		if side, _ := s.side(i); side != Returns && !(hosted && returned && m.Role != Assistant) {
			return false
		}
	}
	if hosted {
		return true
	}
	said := false
	for j := range s.msgs[result].Parts {
		isResult := s.msgs[result].Parts[j].Kind == Result
		if isResult && said {
			return false
		}
		said = said || !isResult
	}
	return true
}

// answered reports whether an assistant has another turn between two messages.
func (s *splitter) answered(from, to int) bool {
	for i := from + 1; i < to; i++ {
		if s.msgs[i].Role == Assistant && s.of[i] != s.of[from] && s.of[i] != s.of[to] {
			return true
		}
	}
	return false
}

// pending reports whether the provider may still give the result of its own call:
// it waits for results of the client that was called along with it, and the
// assistant's next turn has not come, or is the unfinished end.
func (s *splitter) pending(call int) bool {
	returned := false
	for i := call + 1; i < len(s.msgs); i++ {
		if s.msgs[i].Role == Assistant {
			if s.of[i] == s.of[call] {
				continue
			}
			return s.of[i] == s.of[len(s.msgs)-1]
		}
		if returned = returned || s.msgs[i].returns(); !returned {
			return false
		}
	}
	return true
}
