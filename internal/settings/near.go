package settings

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/oriel-context/oriel/internal/settings/suggest"
)

// unknownKey is the error for a key that does not exist.
type unknownKey struct {
	key  toml.Key
	near string // the key that was probably meant
}

func (u *unknownKey) Error() string {
	return fmt.Sprintf("there is no key %s: did you mean %s?", u.key, u.near)
}

func newUnknown(key toml.Key) error { return &unknownKey{key, nearest(key)} }

// nearest returns the key that was probably meant: a key of the same name in
// another section, or else the one with the smallest edit distance.
func nearest(key toml.Key) string {
	if fields := named(key[0]); fields != nil && len(key) > 2 {
		names := make([]string, 0, len(fields))
		for _, f := range fields {
			names = append(names, f.key)
		}
		return append(key[:2:2], closest(key[2], names)).String()
	}
	last := strings.ToLower(key[len(key)-1])
	names := []string{"models", "profiles", "tenants"}
	for _, s := range sections() {
		if s.name != "" {
			names = append(names, s.name)
		}
		for _, f := range s.fields {
			names = append(names, f.key)
		}
	}
	full := strings.ToLower(strings.Join(key, "."))
	var same []string // in another section
	for _, f := range fields() {
		if f.last() == last {
			same = append(same, f.key)
		}
	}
	if len(same) > 0 {
		return closest(full, same)
	}
	best := closest(full, names)
	if suggest.Distance(full, best) > 2 {
		for _, f := range fields() {
			if suggest.Distance(last, f.last()) <= len(f.last())/4 {
				return f.key
			}
		}
	}
	return best
}

// NearVariable returns the environment variable that was probably meant by name, or ""
// if name is known or resembles none.
func NearVariable(name string) string {
	names := []string{"ORIEL_CONFIG", "ORIEL_KERNEL"} // of the program, not of the settings
	for _, f := range fields() {
		names = append(names, f.env)
	}
	best := names[0]
	for _, n := range names {
		if suggest.Distance(name, n) < suggest.Distance(name, best) {
			best = n
		}
	}
	if n := suggest.Distance(name, best); n == 0 || n > 4 {
		return ""
	}
	return best
}

// closest returns the name with the smallest edit distance.
func closest(name string, names []string) string {
	best := names[0]
	for _, n := range names[1:] {
		if suggest.Distance(strings.ToLower(name), n) < suggest.Distance(strings.ToLower(name), best) {
			best = n
		}
	}
	return best
}
