package recall

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// stretch is the part of a trunk that a way leads through. It begins where the trunk
// does, so that of two ways through a trunk one has all that the other has of it.
type stretch struct{ trunk, first, last int64 }

// findWay is the way to a place, from the beginning. It asks for single messages: a way
// changes trunks seldom, however long it is.
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
		low, high := int64(1), last // the trunk begins in here
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

// cutWay is the way to a place that a known way leads to or, in its last trunk, could
// be led on to; false where that is not known.
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

// member is a conversation of a view, as far as it is looked at.
type member struct {
	name     string
	created  time.Time
	revision int64
	to       timeline.Place
	way      []stretch
}

// has reports whether a place is on the member's way.
func (m *member) has(p timeline.Place) bool {
	for _, s := range m.way {
		if s.trunk == p.Trunk {
			return p.Depth >= s.first && p.Depth <= s.last
		}
	}
	return false
}

// sameLife reports whether a conversation is the one that it was: one that is deleted
// and begins anew was created at another time.
func (m *member) sameLife(created time.Time, revision int64) bool {
	return m.created.Equal(created) && m.revision >= revision
}

// view is what a search looks at: places of a history, whose messages it names as the
// one who asks sees them. It does not change.
type view struct {
	members []member // the one who asks first
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

// has reports whether a place is looked at.
func (v *view) has(p timeline.Place) bool { return p.Depth <= v.want[p.Trunk] }

// block names a message: by the id that people see; of another conversation than the
// one that asks with its name before it, "support#17".
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

// same reports whether two views look at the same messages of the same conversations.
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

// with is the view with all that another has of the same ways: a conversation is taken
// up to where it is known, if it is asked for at an earlier place.
func (v *view) with(other *view) *view {
	members := slices.Clone(v.members)
	for i := range members {
		m := &members[i]
		if k, ok := other.byName[m.name]; ok && m.sameLife(other.members[k].created, other.members[k].revision) && other.members[k].has(m.to) {
			m.to, m.way = other.members[k].to, other.members[k].way
		}
	}
	return newView(members)
}

// covers reports whether a view has all that another has.
func (v *view) covers(other *view) bool {
	for trunk, last := range other.want {
		if v.want[trunk] < last {
			return false
		}
	}
	return true
}

// from is the view as another of its conversations sees it at a place, zero for where
// it was last; nil where that is not known.
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

// blockAt is what a scope of a library calls the message of a place: conversations
// that share it may see it under several names.
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
