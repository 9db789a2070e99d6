package chat

import "slices"

// callAt is a call with the state of its pairing.
type callAt struct {
	message int
	// reach is the newest message of a call made by this call.
	reach int
	// whole reports that the call needs no result: the provider ran it.
	whole bool
	// hosted reports that the provider runs it and answers in its next message.
	hosted bool
	// pending reports that the result of a hosted call may still arrive.
	pending bool
	done    bool
	key     string // that of pairKey
	name    string
}

// link joins the messages of a call and of its result.
type link struct{ call, result int }

// span is a run of messages from first to last, inclusive.
type span struct{ first, last int32 }

// survey precomputes what pairing looks up repeatedly, so that pairing takes
// linear time for a history of any shape.
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

// pair matches results to calls by id.
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
	if n := len(s.calls); n == 0 || s.calls[n-1].message != i {
		s.batch = n
	}
	s.last[k] = int32(len(s.calls))
	s.calls = append(s.calls, callAt{message: i, reach: i, whole: p.Hosted && p.ID == "", hosted: p.Hosted, key: k,
		name: p.Name})
	if p.ID != "" || !p.Hosted {
		s.byKey[k] = append(waiting, s.last[k])
	}
}

// within links a call to the call that it belongs to.
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

// answer assigns a result to the newest unanswered call of its key.
func (s *splitter) answer(i int, p *Part) {
	k := pairKey(p)
	waiting, known := s.byKey[k]
	if s.rules.ByName && !p.Hosted && (len(waiting) == 0 && !known || p.ID == "") && s.answerByName(i, p) {
		return
	}
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
			return // too late: the conversation has moved on without a result
		}
	}
	c.done = true
	s.byKey[k] = waiting[:len(waiting)-1]
	s.links = append(s.links, link{c.message, i})
}

// answerByName assigns a result to the first unanswered call of its name in the turn before
// it, and reports whether there is one.
func (s *splitter) answerByName(i int, p *Part) bool {
	for at := s.batch; at < len(s.calls); at++ {
		c := &s.calls[at]
		if c.done || c.hosted || c.name != p.Name || s.rules.ResultsFollow && !s.follows(c.reach, i, false) {
			continue
		}
		c.done = true
		s.byKey[c.key] = slices.DeleteFunc(s.byKey[c.key], func(j int32) bool { return int(j) == at })
		s.links = append(s.links, link{c.message, i})
		return true
	}
	return false
}

// pairKey returns the key that a call shares with its result: the id, or the
// name for a result to which [Identified] found no call. Approvals and hosted
// tools have their own id spaces.
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

// strangers counts the assistant messages between two messages that belong to the
// run of neither.
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

// follows reports whether no other message comes between a call and its result,
// and no other part precedes the result in its message. A hosted result may wait
// for the user turn that holds the client's results.
func (s *splitter) follows(call, result int, hosted bool) bool {
	if call == result {
		return true
	}
	if s.rules.RunsMerge && s.strangers(call, result) > 0 ||
		!s.rules.RunsMerge && s.assistants[result] > s.assistants[call+1] {
		return false
	}
	if !hosted {
		return s.others[result] == s.others[call+1] && s.resultsFirst(result)
	}
	// The hosted result waits for the user turn that begins with the client's
	// results.
	plain := s.nextPlain[call+1]
	return plain >= int32(result) || s.msgs[plain].returns()
}

// resultsFirst reports whether nothing precedes a result in its message.
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

// answered reports whether the assistant has another turn between two messages.
func (s *splitter) answered(from, to int) bool { return s.strangers(from, to) > 0 }

// pending reports whether the provider may still return the result of a hosted
// call: the call waits for client results of the same batch, and the assistant's
// next turn has not begun or is incomplete. It uses runs and of as they are
// before joining.
func (s *splitter) pending(call int) bool {
	next := s.nextAssistant[s.runs[s.of[call]].last+1]
	plain := s.nextPlain[call+1]
	if plain < next && !s.msgs[plain].returns() {
		return false
	}
	return int(next) == len(s.msgs) || s.of[next] == s.of[len(s.msgs)-1]
}
