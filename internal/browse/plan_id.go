package browse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/clip"
)

// PlanOf returns the index of the plan that a person means among the ids of a conversation's
// plans, oldest first: by its id, or the newest by "", Last or Dash.
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
	return 0, fmt.Errorf("no plan is called %s: there are %s; oriel show --plan lists the plans", strconv.Quote(clip.To(name, 40)), strings.Join(few(ids), ", "))
}

// few returns the first of many names, an ellipsis and the last one.
func few(names []string) []string {
	if len(names) <= 4 {
		return names
	}
	return []string{names[0], names[1], "…", names[len(names)-1]}
}
