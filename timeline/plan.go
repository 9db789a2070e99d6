package timeline

import (
	"context"
	"encoding/json"
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

// Plans returns the plans of all branches, oldest first. If two have the same
// number, because two processes made them at once, or a plan has none, as in
// version 1, it gets the lowest free number.
func (n Notes) Plans(ctx context.Context) ([]Plan, error) {
	records, err := n.records(ctx, KindPlan, "")
	if err != nil {
		return nil, err
	}
	plans := make([]Plan, 0, len(records))
	used, named := map[string]bool{}, map[string]bool{}
	for i := range records {
		p := planOf(&records[i])
		if named[p.Name] {
			continue // the same plan, stored again
		}
		if used[p.ID] {
			p.ID = ""
		}
		used[p.ID], named[p.Name] = true, p.Name != ""
		plans = append(plans, p)
	}
	free := int64(1)
	for i := range plans {
		for ; plans[i].ID == ""; free++ {
			if id := PlanID(free); !used[id] {
				plans[i].ID = id
			}
		}
	}
	return plans, nil
}

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
