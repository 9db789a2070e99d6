package settings

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// unknownKey is a key that there is not.
type unknownKey struct {
	key  toml.Key
	near string // the key that was meant
}

func (u *unknownKey) Error() string {
	return fmt.Sprintf("there is no key %s: did you mean %s?", u.key, u.near)
}

func newUnknown(key toml.Key) error { return &unknownKey{key, nearest(key)} }

// nearest is the key that somebody who wrote another one may have meant: the same one in
// another section, else that which takes the fewest changes.
func nearest(key toml.Key) string {
	if key[0] == "models" && len(key) > 2 {
		names := make([]string, 0, len(modelFields()))
		for _, f := range modelFields() {
			names = append(names, f.key)
		}
		return append(key[:2:2], closest(key[2], names)).String()
	}
	last := strings.ToLower(key[len(key)-1])
	names := []string{"models"}
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
	near := closest(full, names)
	if distance(full, near) > 2 {
		for _, f := range fields() {
			if distance(last, f.last()) <= len(f.last())/4 {
				return f.key
			}
		}
	}
	return near
}

// NearVariable is the environment variable that somebody who set another one may have
// meant; "" where this one is known, or like none.
func NearVariable(name string) string {
	names := []string{"ORIEL_CONFIG", "ORIEL_KERNEL"} // of the program, not of the settings
	for _, f := range fields() {
		names = append(names, f.env)
	}
	near := names[0]
	for _, n := range names {
		if distance(name, n) < distance(name, near) {
			near = n
		}
	}
	if n := distance(name, near); n == 0 || n > 4 {
		return ""
	}
	return near
}

// closest is the name that takes the fewest changes.
func closest(name string, names []string) string {
	best := names[0]
	for _, n := range names[1:] {
		if distance(strings.ToLower(name), n) < distance(strings.ToLower(name), best) {
			best = n
		}
	}
	return best
}

// distance is how many letters must be changed, added, removed or swapped with the next
// one.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		two, one, row = one, row, two
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(one[j]+cost, one[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], two[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
