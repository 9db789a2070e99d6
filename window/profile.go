package window

import (
	"fmt"
	"slices"
	"strings"
)

// Profile is a named bundle of settings.
type Profile struct {
	Name string
	// Budget caps what the model would allow; 0 does not. It is a wish about history:
	// see History.Grow.
	Budget int
	// Words keeps what people wrote as long as the model takes it.
	Words bool
	// Off says that nothing is cut.
	Off bool
	// Policy is the profile's own; empty means ladder.
	Policy string
	About  string
}

// profiles, from the one that keeps most to the one that does nothing.
var profiles = []Profile{
	{Name: "full", Words: true, About: "as much as the model takes"},
	{Name: "balanced", Budget: 100_000, Words: true, About: "100,000 tokens, and all that people wrote"},
	{Name: "thrifty", Budget: 64_000, About: "64,000 tokens"},
	{Name: "chat", Policy: "condense", About: "for talk rather than tools: the middle becomes a summary"},
	{Name: "off", Off: true, About: "nothing is cut"},
}

// Profiles are the names of the profiles.
func Profiles() []string {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.Name
	}
	return names
}

// LookupProfile finds a profile; the empty name is full.
func LookupProfile(name string) (Profile, error) {
	if name == "" {
		return profiles[0], nil
	}
	i := slices.IndexFunc(profiles, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, fmt.Errorf("unknown profile %q: use one of %s", name, strings.Join(Profiles(), ", "))
	}
	return profiles[i], nil
}
