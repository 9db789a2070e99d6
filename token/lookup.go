package token

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Models is a table of models. It is immutable and safe for concurrent use.
type Models struct {
	entries []Model
	// names maps every normalised name to its entry's index.
	names      map[string]int
	structures map[string]Structure
	images     map[string]ImageRule
	// snapshot has the origin and the date of the newest figures, without its models.
	snapshot Snapshot
}

// Snapshot returns the origin and the date of the newest snapshot whose figures the table
// has, without its models.
func (ms *Models) Snapshot() Snapshot { return ms.snapshot }

// defaultID is the entry for names that match nothing.
const defaultID = "default"

// All returns the models of the table, in its order, without the entries for
// unknown names.
func (ms *Models) All() []Model {
	var all []Model
	for _, m := range ms.entries {
		if m.Guess {
			continue
		}
		all = append(all, ms.finish(m))
	}
	return all
}

// Lookup returns the entry for a model's name in any platform's spelling. An
// unknown name gets its vendor's fallback entry, or the default, with Known
// false. The default, which the empty name gets, too, counts an estimate on the
// safe side. Package internal/bpe counts a text in one of OpenAI's encodings.
func (ms *Models) Lookup(name string) Model {
	spelt, wide := normalise(name)
	m := ms.find(spelt)
	if m.Guess {
		if name != "" {
			m.ID = name
		}
	}
	m = ms.finish(m)
	if wide {
		for _, w := range m.Widen {
			m.Window = max(m.Window, w.Window)
		}
	}
	return m
}

// find returns the entry with the longest name that begins the given name,
// followed by a dash and nothing but a snapshot; for a family anything but
// another version may follow. So gpt-4o-mini never matches gpt-4, and an
// unknown version never matches an older one.
func (ms *Models) find(spelt string) Model {
	key := dashes.Replace(spelt)
	other := false // it is another version of a model in the table
	for end := len(key); end > 0; end = strings.LastIndexByte(key[:end], '-') {
		i, ok := ms.names[key[:end]]
		if !ok {
			continue
		}
		m := ms.entries[i]
		switch rest := spelt[end:]; {
		case rest == "", m.Guess:
			return m
		case version.MatchString(rest):
			other = true
		case other:
		case snapshot.MatchString(key[end:]):
			return m
		case m.Family && dashed.MatchString(rest):
			other = true
		case m.Family:
			return m
		}
	}
	if i, ok := ms.names[defaultID]; ok {
		return ms.entries[i]
	}
	return Model{ID: defaultID, Window: 128_000, Guess: true, Encoding: "o200k_base", Multiplier: 1.3}
}

// finish fills in the rules that an entry names and clones its slices for the
// caller.
func (ms *Models) finish(m Model) Model {
	m.Known = !m.Guess
	m.structure = ms.structures[m.Structure]
	m.image = ms.images[m.Image]
	return m.clone()
}

func (m Model) clone() Model {
	m.Aliases = slices.Clone(m.Aliases)
	m.Widen = slices.Clone(m.Widen)
	m.Prices.Tiers = slices.Clone(m.Prices.Tiers)
	m.Prices.Service = maps.Clone(m.Prices.Service)
	m.Cache.TTL = slices.Clone(m.Cache.TTL)
	return m
}

// snapshot matches what may follow a model's name without making it another
// model: dates in the vendors' forms, revisions, and words for "the newest".
var snapshot = regexp.MustCompile(
	`^(-(\d{8}|\d{6}|\d{4}(-\d{2}-\d{2})?|\d{2}-\d{2,4}|\d{3}|v\d+|latest|preview|exp|beta|instruct))+$`)

// version matches what makes a name that of another version (qwen3 and
// qwen3.5), dashed the same with a dash: a separate number, not a size such as
// 70b or 1.7b.
var (
	version = regexp.MustCompile(`^\.\d`)
	dashed  = regexp.MustCompile(`^[-_ ]\d{1,2}(\.\d+)*([-_ ]|$)`)
)

// clouds are the dotted prefixes of cloud platforms' model names.
var clouds = []string{
	"us", "eu", "apac", "jp", "au", "ca", "sa", "uk", "me", "af", "in", "us-gov", "global",
	"anthropic", "openai", "meta", "mistral", "deepseek", "qwen", "google", "amazon", "xai", "zai", "moonshot",
	"moonshotai", "minimax", "nvidia", "cohere", "ai21", "writer",
}

// fireworks matches the point of a version as Fireworks spells it (glm-5p3).
var fireworks = regexp.MustCompile(`(\d)p(\d)`)

var dashes = strings.NewReplacer(".", "-", "_", "-", " ", "-")

// normalise converts a model's name to the table's spelling, except that dots
// are not yet dashes: lower case, without vendor path, cloud prefix, tag or
// fine-tune suffix. wide reports that the name requests the widened window
// ("…[1m]").
func normalise(name string) (key string, wide bool) {
	key = strings.ToLower(strings.TrimSpace(name))
	if k, ok := strings.CutSuffix(key, "[1m]"); ok {
		key, wide = k, true
	}
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		key = key[i+1:]
	}
	key = strings.TrimPrefix(key, "ft:")
	for {
		head, rest, ok := strings.Cut(key, ".")
		if !ok || !slices.Contains(clouds, head) {
			break
		}
		key = rest
	}
	if i := strings.IndexAny(key, ":@"); i >= 0 {
		key = key[:i]
	}
	return strings.Trim(fireworks.ReplaceAllString(key, "$1.$2"), "-._ "), wide
}
