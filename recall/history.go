package recall

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// stretch is the part of a trunk that a path runs through. It begins where the
// trunk does, so of two paths through a trunk one always contains the other's
// part of it.
type stretch struct{ trunk, first, last int64 }

// findWay returns the path from the beginning of the history to a place. It
// reads single messages: a path changes trunks seldom, however long it is.
func findWay(ctx context.Context, store timeline.Store, tenant string, to timeline.Place) ([]stretch, error) {
	trunkAt := func(depth int64) (trunk int64, err error) {
		at, ok, err := timeline.PlaceOf(ctx, store, tenant, to, depth)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %v", timeline.ErrNoPlace, to)
		}
		return at.Trunk, err
	}
	var way []stretch
	for trunk, last := to.Trunk, to.Depth; last > 0; {
		low, high := int64(1), last // binary search for the depth where the trunk begins
		for next := low; low < high; next = (low + high) / 2 {
			at, err := trunkAt(next)
			if err != nil {
				return nil, err
			}
			if at == trunk {
				high = next
			} else {
				low = next + 1
			}
		}
		way = append(way, stretch{trunk, low, last})
		if last = low - 1; last > 0 {
			var err error
			if trunk, err = trunkAt(last); err != nil {
				return nil, err
			}
		}
	}
	slices.Reverse(way)
	return way, nil
}

// cutWay truncates or extends a known path to the given place. It returns
// false if the place is not on the path or on a continuation of its last
// trunk.
func cutWay(way []stretch, to timeline.Place) ([]stretch, bool) {
	for i, s := range way {
		if s.trunk == to.Trunk && to.Depth >= s.first && (to.Depth <= s.last || i == len(way)-1) {
			cut := slices.Clone(way[:i+1])
			cut[i].last = to.Depth
			return cut, true
		}
	}
	return nil, false
}

// member is a conversation of a view, up to the place that is searched.
type member struct {
	name     string
	created  time.Time
	revision int64
	to       timeline.Place
	way      []stretch
}

// has reports whether a place is on the member's path.
func (m *member) has(p timeline.Place) bool {
	for _, s := range m.way {
		if s.trunk == p.Trunk {
			return p.Depth >= s.first && p.Depth <= s.last
		}
	}
	return false
}

// sameLife reports whether the conversation is still the same: one that was
// deleted and begun again has another creation time.
func (m *member) sameLife(created time.Time, revision int64) bool {
	return m.created.Equal(created) && m.revision >= revision
}

// view is the set of messages that a search covers, with the names under which
// the asking conversation sees them. It is immutable.
type view struct {
	members []member // the asking conversation first
	byName  map[string]int
	want    map[int64]int64 // the deepest place of each trunk
}

func newView(members []member) *view {
	v := &view{members: members, byName: make(map[string]int, len(members)), want: make(map[int64]int64, len(members))}
	for i := range members {
		v.byName[members[i].name] = i
		for _, s := range members[i].way {
			v.want[s.trunk] = max(v.want[s.trunk], s.last)
		}
	}
	return v
}

// has reports whether the view contains a place.
func (v *view) has(p timeline.Place) bool { return p.Depth <= v.want[p.Trunk] }

// block returns the name of a message: its public id, prefixed with the
// conversation if that is not the asking one: "support#17".
func (v *view) block(p timeline.Place) string {
	depth := strconv.FormatInt(p.Depth, 10)
	for i := range v.members {
		if v.members[i].has(p) {
			if i == 0 {
				return depth
			}
			return v.members[i].name + "#" + depth
		}
	}
	return ""
}

// same reports whether two views cover the same messages of the same
// conversations.
func (v *view) same(other *view) bool {
	if len(v.members) != len(other.members) {
		return false
	}
	for i := range v.members {
		m := &v.members[i]
		k, ok := other.byName[m.name]
		if !ok || other.members[k].to != m.to || !m.sameLife(other.members[k].created, other.members[k].revision) {
			return false
		}
	}
	return true
}

// with returns the view extended by what other has of the same paths: a
// conversation that is asked for at an earlier place is covered up to the
// latest known one.
func (v *view) with(other *view) *view {
	members := slices.Clone(v.members)
	for i := range members {
		m := &members[i]
		if k, ok := other.byName[m.name]; ok && m.sameLife(other.members[k].created, other.members[k].revision) &&
			other.members[k].has(m.to) {
			m.to, m.way = other.members[k].to, other.members[k].way
		}
	}
	return newView(members)
}

// covers reports whether the view contains everything that other contains.
func (v *view) covers(other *view) bool {
	for trunk, last := range other.want {
		if v.want[trunk] < last {
			return false
		}
	}
	return true
}

// from returns the view as another of its conversations sees it at a place;
// the zero place means that conversation's last known one. It returns nil if
// the place is unknown.
func (v *view) from(conversation string, at timeline.Place) *view {
	i, ok := v.byName[conversation]
	if !ok {
		return nil
	}
	own := v.members[i]
	if at != (timeline.Place{}) {
		if own.way, ok = cutWay(own.way, at); !ok {
			return nil
		}
		own.to = at
	}
	members := append([]member{own}, v.members[:i]...)
	return newView(append(members, v.members[i+1:]...))
}

// blockAt returns the name that a library's scope gives to the message at a
// place. Conversations that share the message may each show it under another
// name.
func blockAt(trunk, depth int64) string {
	return strconv.FormatInt(trunk, 36) + ":" + strconv.FormatInt(depth, 36)
}

func placeOf(block string) (p timeline.Place) {
	for i := range len(block) {
		if block[i] == ':' {
			p.Trunk, _ = strconv.ParseInt(block[:i], 36, 64)
			p.Depth, _ = strconv.ParseInt(block[i+1:], 36, 64)
			break
		}
	}
	return p
}
