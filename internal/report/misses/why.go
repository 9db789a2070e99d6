package misses

import (
	"strings"
	"time"

	"github.com/oriel-context/oriel/token"
)

// Reason is why a provider did not read from its cache what it could have read.
type Reason string

// The reasons.
const (
	// Pause: the call before was longer ago than the provider keeps its cache.
	Pause Reason = "pause"
	// Client: the client changed what it had sent before, or asked for no cache.
	Client Reason = "client"
	// Cut: Oriel left something out, or put it back.
	Cut Reason = "cut"
	// Model: the call before asked another model.
	Model Reason = "model"
	// Minimum: the prompt is shorter than what the provider caches.
	Minimum Reason = "minimum"
	// Provider: none of these. The provider dropped its cache early, or did not find it.
	Provider Reason = "provider"
)

// Reasons lists all reasons.
var Reasons = []Reason{Pause, Client, Cut, Model, Minimum, Provider}

// About describes the reason to a person.
func (r Reason) About() string {
	switch r {
	case Pause:
		return "the call before was longer ago than the provider keeps its cache"
	case Client:
		return "the client changed what it had sent before, or asked for no cache"
	case Cut:
		return "Oriel left something out, or put it back"
	case Model:
		return "the call before asked another model"
	case Minimum:
		return "the prompt is shorter than what the provider caches"
	}
	return "no reason was found"
}

// Facts are what is known of a call and of the call before it with which its provider's cache
// could have been filled. Sizes are in tokens as the provider counts them.
type Facts struct {
	// Prompt is the size of the prompt, Read what was read of it from the cache, Written what was
	// written to it.
	Prompt, Read, Written int
	// Before is the size of the prompt of the call before, Kept what that call read from the
	// cache and wrote to it.
	Before, Kept int
	// Shared is how much both prompts begin with. Again is how much of the prompt behind that the
	// call before had as well, at another place or around a change: without the change it would
	// have been read, too.
	Shared, Again int
	// Change is where the prompts part; nil if the prompt continues the one before.
	Change *Break
	// Cut reports that Oriel made that change, Plan by which plan; it may be empty.
	Cut  bool
	Plan string
	// Pause is the time since the call before began.
	Pause time.Duration
	// Lifetime is how long the provider keeps its cache at least, Longest at most; 0 if that is
	// not known.
	Lifetime, Longest time.Duration
	// Model is the model of the call before if that is another one.
	Model string
	// Said is the provider's own diagnosis, such as tools_changed; empty if it made none.
	Said string
	// Cache is what is known of the provider's cache.
	Cache token.CacheRule
}

// Miss is what was not read from the cache. Its JSON form is that of the API and of oriel show
// --calls.
type Miss struct {
	// Reason is pause, client, cut, model, minimum or provider.
	Reason Reason `json:"reason"`
	// Tokens is how much could have been read and was not.
	Tokens int `json:"tokens"`
	// Cost is what it cost more than reading it would have, in US dollars; 0 for a model without a
	// price.
	Cost float64 `json:"cost"`
	// Before is the number of the call before, with which the prompt is compared.
	Before int `json:"before,omitempty"`
	// Pause is how many seconds ago that call began, Lifetime how many the provider keeps its
	// cache; both are set for the reason pause.
	Pause    float64 `json:"pause,omitempty"`
	Lifetime float64 `json:"lifetime,omitempty"`
	// Plan is the plan of the reason cut.
	Plan string `json:"plan,omitempty"`
	// Model is the model before, for the reason model.
	Model string `json:"model,omitempty"`
	// Minimum is the shortest prefix that the provider caches, for the reason minimum.
	Minimum int `json:"minimum,omitempty"`
	// Change is where the prompt parts from the one before, for the reasons client and cut.
	Change *Break `json:"change,omitempty"`
	// Said is the provider's own diagnosis, if the client had asked for one.
	Said string `json:"said,omitempty"`
}

// Break is where a prompt parts from the one before it.
type Break struct {
	// Where is tools, system, messages, or marks: the client asked for no cache there.
	Where string `json:"where"`
	// At is the number of the tool, of the part of the system prompt or of the message in the body
	// that was sent, from 1 on.
	At int `json:"at,omitempty"`
	// Name is the name of the tool, or the role of the message.
	Name string `json:"name,omitempty"`
	// Byte is the first byte of its JSON that differs, from 1 on, cache marks left out.
	Byte int `json:"byte,omitempty"`
	// Old and New are what stood there before and what stands there now; empty if one of the
	// prompts ends there.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// Where of a Break.
const (
	Tools    = "tools"
	System   = "system"
	Messages = "messages"
	Marks    = "marks"
)

// least returns the smallest miss that counts, of what could have been read: caches work in steps,
// and what is behind the last mark of a prompt is not in them.
func least(rule *token.CacheRule, could int) int { return max(rule.Step, could/50, leastTokens) }

const leastTokens = 64

// Silent reports whether nothing is known of a cache of a model, such as of a local one: that its
// provider reports no reads says nothing, unless it has reported some before.
func Silent(m *token.Model) bool { return m.Cache.Mode == "" && m.Prices.CacheRead == 0 }

// Whole reports whether a call that could read at most so many tokens from the cache, those of a
// prompt before it or its own, has read them.
func Whole(rule *token.CacheRule, most, read int) bool { return read+least(rule, most) > most }

// Could returns how much of a prompt could have been read from the cache.
func (f *Facts) Could() int {
	could := min(f.Before, f.Prompt)
	if f.Change != nil {
		could = min(f.Shared+f.Again, f.Prompt)
	}
	return max(could, f.Read)
}

// Why returns why a prompt was not read from the cache as far as it could have been, or nil if
// it was. A pause comes before all other reasons, because after it nothing would have been read
// whatever the client or Oriel had sent; so does another model, whose cache is its own.
func Why(f *Facts) *Miss {
	could := f.Could()
	m := &Miss{Tokens: could - f.Read}
	small := least(&f.Cache, could)
	if m.Tokens < small {
		return nil
	}
	explicit := f.Cache.Mode == "explicit"
	lost := f.Read+small <= min(f.Shared, could) // something is gone that both prompts begin with
	switch minimum := f.Cache.Min; {
	case explicit && f.Read+f.Written == 0 && f.Prompt >= minimum:
		m.Reason, m.Change = Client, &Break{Where: Marks}
	case lost && f.Longest > 0 && f.Pause >= f.Longest:
		m.pause(f, f.Longest)
	case f.Model != "":
		m.Reason, m.Model = Model, f.Model
	case f.Read == 0 && min(f.Prompt, f.Before) < minimum:
		m.Reason, m.Minimum = Minimum, minimum
	case explicit && f.Kept == 0 && f.Before >= minimum:
		m.Reason, m.Change = Client, &Break{Where: Marks}
	case f.Change != nil && f.Cut:
		m.Reason, m.Plan, m.Change = Cut, f.Plan, f.Change
	case f.Change != nil:
		m.Reason, m.Change = Client, f.Change
	case explicit && f.Read+small > f.Kept:
		m.Reason, m.Change = Client, &Break{Where: Marks} // the rest was not marked
	case lost && f.Lifetime > 0 && f.Pause >= f.Lifetime:
		m.pause(f, f.Lifetime)
	case f.Said == "model_changed":
		m.Reason = Model
	case strings.HasSuffix(f.Said, "_changed"):
		m.Reason = Client // something that prompts are not compared by, such as a key or a tier
	default:
		m.Reason = Provider
	}
	m.Said = f.Said
	return m
}

func (m *Miss) pause(f *Facts, lifetime time.Duration) {
	m.Reason, m.Pause, m.Lifetime = Pause, f.Pause.Seconds(), lifetime.Seconds()
}
