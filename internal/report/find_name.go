package report

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/oriel-context/oriel/internal/clip"
)

// nameIndex finds names by their beginnings.
type nameIndex struct {
	names    []string // sorted
	sessions []string // of all names, sorted: see cutPart
	parts    []namePart
}

// namePart is a name that has a part. They are sorted by their parts, then by their sessions.
type namePart struct{ session, part string }

func (p namePart) compare(to namePart) int {
	return cmp.Or(strings.Compare(p.part, to.part), strings.Compare(p.session, to.session))
}

func newNameIndex(names []string) *nameIndex {
	x := &nameIndex{names: slices.Sorted(slices.Values(names))}
	for _, name := range x.names {
		session, part := cutPart(name)
		x.sessions = append(x.sessions, session)
		if part != "" {
			x.parts = append(x.parts, namePart{session, part})
		}
	}
	slices.Sort(x.sessions)
	x.sessions = slices.Compact(x.sessions)
	slices.SortFunc(x.parts, namePart.compare)
	return x
}

// begin returns the names that begin with name, or of which both the session and the part
// begin so, sorted. If the others belong to the first of them, it returns only that one.
func (x *nameIndex) begin(name string) []string {
	if name == "" {
		return nil
	}
	found := slices.Clone(withPrefix(x.names, name))
	if session, part := cutPart(name); part != "" {
		found = append(found, x.withPart(session, part)...)
		slices.Sort(found)
		found = slices.Compact(found)
	}
	if len(found) > 1 && !slices.ContainsFunc(found[1:], func(n string) bool { return !belongs(n, found[0]) }) {
		return found[:1]
	}
	return found
}

// withPart returns the names with a part whose sessions begin with session or, if there is
// none, those whose part begins so. A number is never the beginning of another.
func (x *nameIndex) withPart(session, part string) (found []string) {
	first, _ := slices.BinarySearchFunc(x.parts, namePart{session, part}, namePart.compare)
	for _, p := range x.parts[first:] {
		if p.part != part || !strings.HasPrefix(p.session, session) {
			break
		}
		found = append(found, p.session+p.part)
	}
	if len(found) > 0 || part[0] != '/' {
		return found
	}
	first, _ = slices.BinarySearchFunc(x.parts, namePart{"", part}, namePart.compare)
	for _, p := range x.parts[first:] {
		if !strings.HasPrefix(p.part, part) {
			break
		}
		if strings.HasPrefix(p.session, session) {
			found = append(found, p.session+p.part)
		}
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
// of at least eight bytes or, if that is shorter, such beginnings of its session and its part.
func Short(names []string) map[string]string {
	x := newNameIndex(names)
	short := make(map[string]string, len(names))
	for i, name := range x.names {
		short[name] = name
		for _, form := range []string{distinct(name, x.neighbours(i)), x.inParts(i)} {
			if len(form) < len(short[name]) && slices.Equal(x.begin(form), []string{name}) {
				short[name] = form
			}
		}
	}
	return short
}

// neighbours returns the names around the i-th one, without those that belong to it.
func (x *nameIndex) neighbours(i int) []string {
	next := i + 1
	for next < len(x.names) && belongs(x.names[next], x.names[i]) {
		next++
	}
	return slices.Concat(x.names[max(0, i-1):i], x.names[next:min(next+1, len(x.names))])
}

// inParts returns the beginning of the i-th name's session that no other session has, and the
// beginning of its part that no other of the session has, or its number.
func (x *nameIndex) inParts(i int) string {
	session, part := cutPart(x.names[i])
	at, _ := slices.BinarySearch(x.sessions, session)
	begin := distinct(session, slices.Concat(x.sessions[max(0, at-1):at], x.sessions[at+1:min(at+2, len(x.sessions))]))
	if !strings.HasPrefix(part, "/") {
		return begin + part
	}
	var siblings []string
	for _, n := range x.neighbours(i) {
		if rest, ok := strings.CutPrefix(n, session); ok {
			siblings = append(siblings, rest)
		}
	}
	return begin + distinct(part, siblings)
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
