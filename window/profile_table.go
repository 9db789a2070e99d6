package window

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/number"
	nearest "github.com/oriel-context/oriel/internal/settings/suggest"
)

// ProfileTable holds the built-in profiles and a caller's own (SPEC B4). A nil
// table holds only the built-in ones. It is safe for concurrent use.
type ProfileTable struct{ own []Profile }

// NewProfiles returns a table with the caller's own profiles. Their names must
// differ from the built-in ones. Those whose policy is the ladder keep what
// people wrote as long as the model accepts it, as full and balanced do.
func NewProfiles(own ...Profile) (*ProfileTable, error) {
	t := &ProfileTable{own: slices.Clone(own)}
	for i, p := range t.own {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("profile %.40q: %w", p.Name, err)
		}
		if slices.ContainsFunc(t.own[:i], func(q Profile) bool { return q.Name == p.Name }) {
			return nil, fmt.Errorf("profile %.40q is there twice: give each its own name", p.Name)
		}
		if t.own[i].Policy == "" {
			t.own[i].Policy = "ladder"
		}
		t.own[i].Words = t.own[i].Policy == "ladder" // like the built-in ones that use it
	}
	return t, nil
}

// profileName matches names that work in headers, in /p/NAME/ and on command
// lines.
var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// check rejects an unusable profile. A threshold outside the bounds is
// reported when it is used.
func (p *Profile) check() error {
	switch {
	case !profileName.MatchString(p.Name):
		return fmt.Errorf("the name is not valid: use at most 40 letters, digits, - and _")
	case slices.Contains(Profiles(), p.Name):
		return fmt.Errorf("there is a built-in profile of this name: choose another")
	case p.Budget < 0:
		return fmt.Errorf("a budget of %d: it must be 0 or more", p.Budget)
	case p.Low != 0 && (!number.Within(p.Low, 0, 1) || p.Low == 1):
		return fmt.Errorf("a low mark of %g: it must be a share of the budget between 0 and 1, such as 0.5", p.Low)
	case p.Scope != "" && p.Scope != "conversation" && p.Scope != "project":
		return fmt.Errorf("a scope of %.40q: it must be conversation or project", p.Scope)
	case !number.Finite(p.Threshold):
		return fmt.Errorf(
			"a threshold of %g: it must be a percent of the window, such as 80, or -1 for that of all profiles",
			p.Threshold)
	case p.Recall < -1:
		return fmt.Errorf("a recall of %d: it must be a number of tokens, 0 for that of all profiles, or -1 for none",
			p.Recall)
	case p.Policy != "" && policies[p.Policy] == nil:
		return fmt.Errorf("unknown policy %.40q: use one of %s", p.Policy, strings.Join(Policies(), ", "))
	}
	return nil
}

// Names returns the names of all profiles, the caller's own first.
func (t *ProfileTable) Names() []string {
	var names []string
	if t != nil {
		for _, p := range t.own {
			names = append(names, p.Name)
		}
	}
	return append(names, Profiles()...)
}

// Lookup returns a profile; the empty name means full.
func (t *ProfileTable) Lookup(name string) (Profile, error) {
	if name == "" {
		return profiles[0], nil
	}
	all := profiles
	if t != nil {
		all = slices.Concat(t.own, profiles)
	}
	if i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := t.Names()
	if n := nearest.Name(name, names); n != "" {
		return Profile{}, fmt.Errorf("unknown profile %.40q: did you mean %s? There are %s", name, n,
			strings.Join(names, ", "))
	}
	return Profile{}, fmt.Errorf("unknown profile %.40q: use one of %s", name, strings.Join(names, ", "))
}
