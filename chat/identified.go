package chat

import (
	"slices"
	"strconv"
)

// Identified returns the messages with an id in each call and result that has none, as in
// protocols that pair them by the tool's name and by their order: a result answers the first
// call of its name, or the first call at all if it has no name, that no result of the same
// batch has answered. A result with an id that no call of the batch has answers, likewise, a call
// that had none: some clients give ids to results alone. The ids mean nothing beyond msgs. A result
// without such a call gets no id.
//
// Identified does not change msgs; it returns msgs itself if there is nothing to add.
func Identified(msgs []Message) []Message {
	if !slices.ContainsFunc(msgs, lacksIDs) {
		return msgs
	}
	n := namer{msgs: slices.Clone(msgs)}
	for i := range n.msgs {
		n.message(i)
	}
	return n.msgs
}

// lacksIDs reports whether a call or a result of a message has no id.
func lacksIDs(m Message) bool {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.ID == "" && !p.Hosted && (p.Kind == Call || p.Kind == Result) {
			return true
		}
	}
	return false
}

// namer gives ids to the calls and results of msgs.
type namer struct {
	msgs  []Message
	given int
	// The batch: the calls since the last result, and which of them are answered.
	batch    []batched
	returned bool             // a result has come since the last call
	byName   map[string][]int // calls of the batch
	byID     map[string][]int
	first    int // no call before it is open
}

type batched struct {
	id       string
	given    bool // the id
	answered bool
}

func (n *namer) message(i int) {
	m := &n.msgs[i]
	cloned := false
	set := func(j int, id string) {
		if !cloned {
			m.Parts, cloned = slices.Clone(m.Parts), true
		}
		m.Parts[j].ID = id
	}
	for j := range m.Parts {
		p := &m.Parts[j]
		switch {
		case p.Hosted:
		case p.Kind == Call:
			c := batched{id: p.ID, given: p.ID == ""}
			if c.given {
				n.given++
				c.id = "oriel_call_" + strconv.Itoa(n.given)
				set(j, c.id)
			}
			n.call(c, p.Name)
		case p.Kind == Result && p.ID == "":
			if id := n.answer(p.Name); id != "" {
				set(j, id)
			}
		case p.Kind == Result:
			n.returned = true
			if _, known := n.byID[p.ID]; !known {
				if id := n.answerGiven(p.Name); id != "" {
					set(j, id)
				}
			} else if c := n.open(n.byID, p.ID); c >= 0 {
				n.batch[c].answered = true
			}
		}
	}
}

// call adds a call to the batch, or begins another one.
func (n *namer) call(c batched, name string) {
	if n.returned || n.byName == nil {
		n.batch, n.first, n.returned = n.batch[:0], 0, false
		n.byName, n.byID = map[string][]int{}, map[string][]int{}
	}
	n.byName[name] = append(n.byName[name], len(n.batch))
	n.byID[c.id] = append(n.byID[c.id], len(n.batch))
	n.batch = append(n.batch, c)
}

// answer returns the id of the call that a result with a name answers, or "".
func (n *namer) answer(name string) string {
	n.returned = true
	c := n.next(name)
	if c < 0 {
		return ""
	}
	n.batch[c].answered = true
	return n.batch[c].id
}

// answerGiven is answer for a result that brings an id of its own: the call must have had none.
func (n *namer) answerGiven(name string) string {
	if c := n.next(name); c < 0 || !n.batch[c].given {
		return ""
	}
	return n.answer(name)
}

// next returns the first unanswered call of a name, or the first one if the name is empty; -1 if
// there is none.
func (n *namer) next(name string) int {
	if name != "" {
		return n.open(n.byName, name)
	}
	for n.first < len(n.batch) && n.batch[n.first].answered {
		n.first++
	}
	if n.first < len(n.batch) {
		return n.first
	}
	return -1
}

// open returns the first unanswered call of a list, or -1.
func (n *namer) open(lists map[string][]int, key string) int {
	list := lists[key]
	for len(list) > 0 && n.batch[list[0]].answered {
		list = list[1:]
	}
	if lists != nil {
		lists[key] = list
	}
	if len(list) == 0 {
		return -1
	}
	return list[0]
}
