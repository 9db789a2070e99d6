package window

// Profile is a named bundle of settings.
type Profile struct {
	Name string
	// Budget limits what the model would allow; 0 does not. It is a wish about
	// history; see History.Grow.
	Budget int
	// Words keeps what people wrote as long as the model accepts it.
	Words bool
	// Off means that nothing is cut.
	Off bool
	// Policy is the profile's own; empty means ladder.
	Policy string
	About  string
	// Low is the share of the budget that a cut goes down to; 0 uses the
	// general setting.
	Low float64
	// Threshold is the percent of the window at which something leaves; 0 and
	// -1 use Thresholds.
	Threshold float64
	// Recall is the most tokens that are recalled at a time; 0 uses the
	// general setting, a negative number disables recall.
	Recall int
	// Scope is how far recall looks at the first call of a conversation:
	// "conversation" or "project"; empty uses the general setting.
	Scope string
}

// profiles lists the profiles from the one that keeps most to the one that
// does nothing.
var profiles = []Profile{
	{Name: "full", Words: true, About: "as much as the model accepts"},
	{Name: "balanced", Budget: 100_000, Words: true, About: "100,000 tokens, and all that people wrote"},
	{Name: "thrifty", Budget: 64_000, About: "64,000 tokens"},
	{Name: "chat", Policy: "condense", About: "for talk rather than tools: the middle becomes a summary"},
	{Name: "off", Off: true, About: "nothing is cut"},
	{Name: "observe", Off: true, About: "nothing is cut; what full, balanced and thrifty would send is recorded"},
}

// Profiles returns the names of the profiles.
func Profiles() []string {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.Name
	}
	return names
}

// LookupProfile returns a built-in profile; the empty name means full.
func LookupProfile(name string) (Profile, error) { return (*ProfileTable)(nil).Lookup(name) }
