package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plan is a stored plan. Data is JSON: what oriel show --plan prints, and what else the
// door that made the plan needs.
type Plan struct {
	// ID is the id that people use: "p3". No other plan of the conversation has it.
	ID string
	// Name tells the plan of a call from those of all other calls: "p-CALL-0". It stays the
	// same in every conversation that the plan applies to, whatever its id there is. A plan
	// of items has none.
	Name string
	At   Place
	// Time is when it was made.
	Time     time.Time
	Data     json.RawMessage
	Contents []Hash
}

// Plans returns the plans of all branches, oldest first. A plan without a number, as in
// version 1, or with one that another plan has, gets the lowest free number.
func (n Notes) Plans(ctx context.Context) ([]Plan, error) {
	return n.PlansExcept(ctx, nil)
}

// PlansExcept returns what Plans returns, but of the plans that known reports only the id
// and the name, which costs little. A nil known knows none.
func (n Notes) PlansExcept(ctx context.Context, known func(id, name string) bool) ([]Plan, error) {
	if known != nil {
		plans, whole, err := n.fewPlans(ctx, known)
		if whole || err != nil {
			return plans, err
		}
	}
	records, err := n.records(ctx, KindPlan, "")
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(records))
	for i := range records {
		keys[i] = records[i].Key
	}
	plans := make([]Plan, 0, len(records))
	for i, id := range planIDs(keys) {
		if id == "" {
			continue // the same plan, stored again
		}
		p := planOf(&records[i])
		p.ID = id
		plans = append(plans, p)
	}
	return plans, nil
}

// maxFewPlans is how many plans are read one by one.
const maxFewPlans = 8

// fewPlans is PlansExcept if few plans are not known. Otherwise whole is false.
func (n Notes) fewPlans(ctx context.Context, known func(id, name string) bool) (plans []Plan, whole bool, err error) {
	keys, err := n.Store.RecordKeys(ctx, n.Tenant, n.Conversation, KindPlan)
	if err != nil {
		if errors.Is(err, ErrNoConversation) {
			err = nil
		}
		return nil, true, err
	}
	read := 0
	for i, id := range planIDs(keys) {
		if id == "" {
			continue
		}
		p := Plan{ID: id}
		if _, p.Name = ParsePlanKey(keys[i]); !known(id, p.Name) {
			if read++; read > maxFewPlans {
				return nil, false, nil
			}
			records, err := n.records(ctx, KindPlan, keys[i])
			if err != nil {
				return nil, false, err
			}
			if len(records) == 0 {
				continue // somebody has just deleted it
			}
			p = planOf(&records[0])
			p.ID = id
		}
		plans = append(plans, p)
	}
	return plans, true, nil
}

// planIDs returns the ids of the plans with these keys; empty for a plan that an earlier
// key names already.
func planIDs(keys []string) []string {
	ids := make([]string, len(keys))
	used, named := map[string]bool{}, map[string]bool{}
	var unnumbered []int
	for i, key := range keys {
		id, name := ParsePlanKey(key)
		if named[name] {
			continue
		}
		named[name] = name != ""
		if id == "" || used[id] {
			unnumbered = append(unnumbered, i)
			continue
		}
		ids[i], used[id] = id, true
	}
	free := int64(1)
	for _, i := range unnumbered {
		for ; ids[i] == ""; free++ {
			if id := PlanID(free); !used[id] {
				ids[i] = id
			}
		}
	}
	return ids
}

// PlanIDs returns the ids that are taken, with the names of their plans: the ids of stored
// plans, and those that are reserved.
func (n Notes) PlanIDs(ctx context.Context) (map[string]string, error) {
	taken, _, err := n.planIDs(ctx, nil)
	return taken, err
}

// planIDs is PlanIDs, and also returns the plans of calls that are not known. A nil known
// knows all.
func (n Notes) planIDs(ctx context.Context, known func(id, name string) bool) (taken map[string]string, others *OthersError, err error) {
	taken, others = map[string]string{}, &OthersError{}
	for _, kind := range []string{KindPlan, KindNumber} {
		keys, err := n.Store.RecordKeys(ctx, n.Tenant, n.Conversation, kind)
		if err != nil && !errors.Is(err, ErrNoConversation) {
			return nil, nil, err
		}
		for i, id := range planIDs(keys) {
			if _, stored := taken[id]; id == "" || stored {
				continue
			}
			_, name := ParsePlanKey(keys[i])
			switch taken[id] = name; {
			case name == "" || known == nil || known(id, name):
			case kind == KindPlan:
				others.Stored = append(others.Stored, keys[i])
			default:
				others.Reserved = append(others.Reserved, keys[i])
			}
		}
	}
	return taken, others, nil
}

// Proposal is a plan of a call that is not stored yet.
type Proposal struct {
	Name string
	// Wish is the number that the plan gets if it is free; otherwise it gets the number
	// after the largest.
	Wish int64
	// Data, if set, is the plan itself, and Contents are the bytes that it refers to. Other
	// processes can then use the plan before it is stored.
	Data     json.RawMessage
	Contents [][]byte
	// Known, if set, reports whether the process had the plan with this id and name at
	// hand when it made this one. ReservePlan returns an *OthersError if the
	// conversation has one that it had not.
	Known func(id, name string) bool
	// Quiet, if set, names the request whose newest message the plan adds recalled text to.
	// ReservePlan returns ErrQuiet if a process has noted by that name that it adds
	// nothing. Without a Name there is no plan, and this process notes that.
	Quiet string
	Now   time.Time
}

// ErrQuiet: another process has sent the same request without recalled text.
var ErrQuiet = errors.New("nothing is recalled for this request")

// OthersError: other processes have made plans in the conversation meanwhile.
type OthersError struct {
	// Stored and Reserved are the keys of their records.
	Stored, Reserved []string
}

func (e *OthersError) Error() string {
	return fmt.Sprintf("%d plans were made meanwhile", len(e.Stored)+len(e.Reserved))
}

// ReservePlan reserves an id for the plan of a call, so that no other process gives the id
// to another plan. If the plan has an id already, it keeps it, and Data
// takes the place of what the reservation had. A proposal without a plan gets no id. It returns
// ErrNoConversation if there is no such conversation yet. The change that stores the plan
// should drop the reservation; see Plan.Reservation.
func (n Notes) ReservePlan(ctx context.Context, p Proposal) (id string, err error) {
	hashes := make([]Hash, len(p.Contents))
	for i, raw := range p.Contents {
		hashes[i] = HashOf(raw)
	}
	for {
		c, err := n.Store.Conversation(ctx, n.Tenant, n.Conversation)
		if err != nil {
			return "", err
		}
		taken, others, err := n.planIDs(ctx, p.Known)
		if err != nil {
			return "", err
		}
		id, own := FreePlanID(taken, p.Name, p.Wish)
		if own && p.Name != "" && p.Data == nil {
			return id, nil
		}
		if len(others.Stored)+len(others.Reserved) > 0 {
			return "", others
		}
		quiet, err := n.quiet(ctx, p.Quiet)
		if err != nil {
			return "", err
		}
		put := Record{Kind: KindNumber, Key: PlanKey(id, p.Name), Data: p.Data, Contents: hashes}
		switch {
		case p.Name == "" && quiet:
			return "", nil
		case p.Name == "":
			id, put = "", Record{Kind: KindQuiet, Key: p.Quiet}
		case quiet:
			return "", ErrQuiet
		}
		_, err = n.Store.Apply(ctx, n.Tenant, Change{
			Conversation: n.Conversation, Expect: &c.Revision, ExpectCreated: c.Created, Stay: true, Now: p.Now, Put: []Record{put}, Contents: p.Contents,
		})
		if !errors.Is(err, ErrChanged) {
			return id, err
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
	}
}

// quiet reports whether a process has noted that it adds nothing to a request.
func (n Notes) quiet(ctx context.Context, request string) (bool, error) {
	if request == "" {
		return false, nil
	}
	keys, err := n.Store.RecordKeys(ctx, n.Tenant, n.Conversation, KindQuiet)
	return slices.Contains(keys, request), err
}

// FreePlanID returns the id that a plan with this name gets, and whether it has it already.
func FreePlanID(taken map[string]string, name string, wish int64) (id string, own bool) {
	last := int64(0)
	for id, other := range taken {
		if other == name {
			return id, true
		}
		number, _ := PlanNumber(id)
		last = max(last, number)
	}
	if id = PlanID(wish); wish < 1 {
		return PlanID(last + 1), false
	}
	if _, other := taken[id]; other {
		id = PlanID(last + 1)
	}
	return id, false
}

// Reserved returns the plans whose ids are reserved, of all branches, with what is stored of
// them. They have no place. known leaves out those that it reports; it may be nil.
func (n Notes) Reserved(ctx context.Context, known func(id, name string) bool) ([]Plan, error) {
	keys, err := n.Store.RecordKeys(ctx, n.Tenant, n.Conversation, KindNumber)
	if err != nil {
		if errors.Is(err, ErrNoConversation) {
			err = nil
		}
		return nil, err
	}
	var plans []Plan
	for _, key := range keys {
		if id, name := ParsePlanKey(key); known != nil && known(id, name) {
			continue
		}
		records, err := n.records(ctx, KindNumber, key)
		if err != nil {
			return nil, err
		}
		for i := range records { // none, if it has just been stored
			plans = append(plans, planOf(&records[i]))
		}
	}
	return plans, nil
}

// Reservation returns the key of the record that reserves the id of a plan.
func (p Plan) Reservation() Key { return Key{KindNumber, PlanKey(p.ID, p.Name)} }

// Plan returns the plan of items with this id, or false if there is none.
func (n Notes) Plan(ctx context.Context, id string) (Plan, bool, error) {
	records, err := n.records(ctx, KindPlan, id)
	if err != nil || len(records) == 0 {
		return Plan{}, false, err
	}
	return planOf(&records[0]), true, nil
}

// planOf reads a record. The plan has no id if its key has no number.
func planOf(r *Record) Plan {
	p := Plan{At: r.At, Time: r.Time, Data: r.Data, Contents: r.Contents}
	p.ID, p.Name = ParsePlanKey(r.Key)
	return p
}

// Record returns the record of a plan.
func (p Plan) Record() Record {
	return Record{Kind: KindPlan, Key: PlanKey(p.ID, p.Name), At: p.At, Time: p.Time, Data: p.Data, Contents: p.Contents}
}

// PlanKey returns the key of a plan's record: its id, and its name behind that, so that
// plans with the same number never overwrite each other: "p3-CALL-0".
func PlanKey(id, name string) string { return id + strings.TrimPrefix(name, "p") }

// ParsePlanKey returns the id and the name in the key of a plan's record. The id is empty
// for keys of version 1, which are names.
func ParsePlanKey(key string) (id, name string) {
	id, call, named := strings.Cut(key, "-")
	if _, ok := PlanNumber(id); !ok {
		return "", key
	}
	if named {
		name = "p-" + call
	}
	return id, name
}

// PlanID returns the id of a plan by its number within the conversation: "p3".
func PlanID(number int64) string { return "p" + strconv.FormatInt(number, 10) }

// PlanNumber returns the number of a plan, or false if the id is not one that PlanID
// returns.
func PlanNumber(id string) (number int64, ok bool) {
	digits, ok := strings.CutPrefix(id, "p")
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, ok && err == nil && number > 0 && PlanID(number) == id
}
