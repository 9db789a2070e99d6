package browse

import (
	"slices"
	"sort"
	"strings"

	"github.com/oriel-context/oriel/internal/clip"
)

// nameIndex finds names by their beginnings.
type nameIndex struct {
	names []string // sorted
	// sessions are those that have a part, sorted, by the part: see cutPart.
	sessions map[string][]string
}

func newNameIndex(names []string) *nameIndex {
	x := &nameIndex{names: slices.Sorted(slices.Values(names)), sessions: map[string][]string{}}
	for _, name := range x.names {
		if session, part := cutPart(name); part != "" {
			x.sessions[part] = append(x.sessions[part], session)
		}
	}
	for _, list := range x.sessions {
		slices.Sort(list)
	}
	return x
}

// begin returns the names that begin with name, or that have its part and whose sessions
// begin with its session, sorted. If the others belong to the first of them, it returns only
// that one.
func (x *nameIndex) begin(name string) []string {
	if name == "" {
		return nil
	}
	found := slices.Clone(withPrefix(x.names, name))
	if session, part := cutPart(name); part != "" {
		for _, s := range withPrefix(x.sessions[part], session) {
			found = append(found, s+part)
		}
		slices.Sort(found)
		found = slices.Compact(found)
	}
	if len(found) > 1 && !slices.ContainsFunc(found[1:], func(n string) bool { return !belongs(n, found[0]) }) {
		return found[:1]
	}
	return found
}

// withPrefix returns those of sorted names that begin with prefix.
func withPrefix(sorted []string, prefix string) []string {
	first, _ := slices.BinarySearch(sorted, prefix)
	rest := sorted[first:]
	return rest[:sort.Search(len(rest), func(i int) bool { return !strings.HasPrefix(rest[i], prefix) })]
}

// belongs reports whether a name is that of a sub-agent or of a further conversation of a
// session.
func belongs(name, session string) bool {
	s, _ := cutNumber(name)
	return s == session || strings.HasPrefix(name, session+"/")
}

// cutPart splits a name such as "session~2" or "session/agent-1" before the tilde or the
// first slash; other names have no part.
func cutPart(name string) (session, part string) {
	if session, part = cutNumber(name); part != "" {
		return session, part
	}
	if i := strings.IndexByte(name, '/'); i > 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// cutNumber returns the session of a name such as "session~2", and its number with the tilde;
// other names have no number.
func cutNumber(name string) (session, number string) {
	i := strings.LastIndexByte(name, '~')
	if i <= 0 || i == len(name)-1 || strings.Trim(name[i+1:], "0123456789") != "" {
		return name, ""
	}
	return name[:i], name[i:]
}

// Short returns for each name a short form that Find accepts for it: its shortest beginning
// of at least eight bytes or, if it is shorter, one of its session with its part.
func Short(names []string) map[string]string {
	x := newNameIndex(names)
	short := make(map[string]string, len(names))
	for i, name := range x.names {
		short[name] = name
		for _, form := range []string{x.beginning(i), x.withPart(name)} {
			if len(form) < len(short[name]) && slices.Equal(x.begin(form), []string{name}) {
				short[name] = form
			}
		}
	}
	return short
}

// beginning returns the shortest beginning of the i-th name that only names have which
// belong to it.
func (x *nameIndex) beginning(i int) string {
	next := i + 1
	for next < len(x.names) && belongs(x.names[next], x.names[i]) {
		next++
	}
	return distinct(x.names[i], slices.Concat(x.names[max(0, i-1):i], x.names[next:min(next+1, len(x.names))]))
}

// withPart returns the shortest beginning of a name's session that no other session with the
// same part has, and the part.
func (x *nameIndex) withPart(name string) string {
	session, part := cutPart(name)
	list := x.sessions[part]
	i, found := slices.BinarySearch(list, session)
	if !found {
		return name
	}
	return distinct(session, slices.Concat(list[max(0, i-1):i], list[i+1:min(i+2, len(list))])) + part
}

// distinct returns the shortest beginning of a name, of at least eight bytes, that none of
// the others has.
func distinct(name string, others []string) string {
	n := 8
	for _, other := range others {
		n = max(n, shared(name, other)+1)
	}
	return name[:clip.Ceil(name, min(n, len(name)))]
}

// shared returns how many bytes two texts have in common at their beginning.
func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
