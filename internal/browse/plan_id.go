package browse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/timeline"
)

// PlanOf returns the index of the plan that a person means among the ids of a conversation's
// plans, oldest first: the newest by "", Last or Dash; by its id; by "p3", the third; or by
// the beginning of its id, if no other begins so.
func PlanOf(ids []string, name string) (int, error) {
	if len(ids) == 0 {
		return 0, fmt.Errorf("there is no plan: nothing has left the view")
	}
	if name == "" || name == Last || name == Dash {
		return len(ids) - 1, nil
	}
	if i := slices.Index(ids, name); i >= 0 {
		return i, nil
	}
	// Plans of earlier versions have long ids.
	if n, ok := timeline.PlanNumber(name); ok && n <= int64(len(ids)) && !slices.ContainsFunc(ids, isNumbered) {
		return int(n - 1), nil
	}
	if found := begin(name, ids); len(found) == 1 && !isNumbered(name) {
		return slices.Index(ids, found[0]), nil
	}
	return 0, fmt.Errorf("no plan is called %s: there are %s; oriel show --plan lists the plans", strconv.Quote(clip.To(name, 40)), strings.Join(few(ids), ", "))
}

func isNumbered(id string) bool {
	_, ok := timeline.PlanNumber(id)
	return ok
}

// few returns the first of many names, an ellipsis and the last one.
func few(names []string) []string {
	if len(names) <= 4 {
		return names
	}
	return []string{names[0], names[1], "…", names[len(names)-1]}
}
