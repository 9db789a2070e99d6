package timeline

import "context"

// Distant is a store that is asked over a network, where every question takes a round trip.
// Its methods answer together what a call asks one by one. A wrapper of a store that may or
// may not be distant returns errors.ErrUnsupported.
type Distant interface {
	// Follow returns the places of messages with the given identities, each directly after
	// the one before, from the beginning of the history on and as far as they are stored
	// (see Store.Under). ending are the conversations whose head is on the trunk of the last
	// of them, the latest first, and at most MaxEnding.
	Follow(ctx context.Context, tenant string, identities []Hash) (way []Place, ending []Conversation, err error)
	// Family returns the conversation with a name and those whose names begin with the name
	// and "~", sorted by name.
	Family(ctx context.Context, tenant, name string) ([]Conversation, error)
	// Holding returns the names of the conversations that have used or passed the trunk of a
	// place and have a record, sorted.
	Holding(ctx context.Context, tenant string, at Place, record Key) ([]string, error)
	// Gather returns what calls read of a conversation, or ErrNoConversation.
	Gather(ctx context.Context, tenant, conversation string, w Wanted) (*Gathered, error)
}

// MaxEnding is the most conversations that Distant.Follow returns.
const MaxEnding = 64

// GatheredKinds are the kinds of the records in Gathered.
var GatheredKinds = []string{"thread", KindPin, KindHold, KindPlan, KindSize, KindDecision, "summary"}

// Wanted is how much Distant.Gather reads. The zero value leaves out the messages only.
type Wanted struct {
	// Known are ids of plans, and Plans is a number, or 0: of the plans with these ids, and of
	// all but the newest Plans, only the keys are read.
	Known []string
	Plans int
	// Messages asks for all messages that the conversation has used or passed. Without it
	// they are read only if there is a plan that is not known.
	Messages bool
}

// Gathered is what calls read of a conversation, at one moment.
type Gathered struct {
	Conversation Conversation
	Heads        []Place
	// Records has the records of GatheredKinds in the order of Store.Records. Data and
	// Contents are nil for the plans that were left out.
	Records []Record
	// Contents has the contents that those records refer to.
	Contents map[Hash][]byte
	// Identities has the identities of the messages at the places of pins and holds.
	Identities map[Place]Hash
	// Trunks has, by their numbers, the trunks that the conversation has used or passed,
	// and is nil if the messages were not read.
	Trunks map[int64]*GatheredTrunk
}

// GatheredTrunk is the part of a trunk that a conversation has used or passed.
type GatheredTrunk struct {
	Origin  Place   // the place after which it begins
	Entries []Entry // without bytes, from the first message on
}

// way returns the trunks that lead to a place, the last one first, and false if one is missing.
func (g *Gathered) way(to Place) (trunks []*GatheredTrunk, ok bool) {
	for to.Trunk != 0 {
		t := g.Trunks[to.Trunk]
		if t == nil || to.Depth <= t.Origin.Depth || to.Depth > t.Origin.Depth+int64(len(t.Entries)) ||
			len(trunks) > len(g.Trunks) {
			return nil, false
		}
		trunks = append(trunks, t)
		to = t.Origin
	}
	return trunks, to.Depth == 0
}
