package report

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel"
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
	return 0, fmt.Errorf("no plan is called %s: there are %s; oriel show CONVERSATION --plan lists the plans",
		strconv.Quote(clip.To(name, 40)), strings.Join(few(ids), ", "))
}

// few returns the first of many names, an ellipsis and the last one.
func few(names []string) []string {
	if len(names) <= 4 {
		return names
	}
	return []string{names[0], names[1], "…", names[len(names)-1]}
}

// FindPlan returns the id of the plan of a conversation that a person means; see PlanOf. The
// error is oriel.ErrNoPlan if there is none. Conversations know the long ids of version 1.
func FindPlan(ctx context.Context, c *oriel.Conversation, name string) (string, error) {
	if strings.HasPrefix(name, "p-") {
		return name, nil
	}
	plans, err := c.Plans(ctx, 0)
	if err != nil {
		return "", err
	}
	ids := make([]string, len(plans))
	for i := range plans {
		ids[i] = plans[i].Undo
	}
	i, err := PlanOf(ids, name)
	if err != nil {
		return "", unnamed{err}
	}
	return ids[i], nil
}

// unnamed is oriel.ErrNoPlan in other words.
type unnamed struct{ error }

func (unnamed) Unwrap() error { return oriel.ErrNoPlan }
