package histories

import (
	"slices"

	"pgregory.net/rapid"
)

// damage breaks the history in one to four ways: results without calls, calls
// without results in the middle and at the end, half answered batches,
// repeated ids, results twice, out of order or far away, and a second history
// under the same key.
func (g *gen) damage(body *object, history *list) {
	for range rapid.IntRange(1, 4).Draw(g.t, "damages") {
		switch g.pick("damage", "cut the end", "drop", "drop", "double", "move", "same ids", "rename",
			"second history") {
		case "cut the end":
			if n := len(history.items); n > 1 {
				history.items = history.items[:rapid.IntRange(1, n-1).Draw(g.t, "left")]
			}
		case "drop":
			if l := g.anyList(); l != nil {
				at := g.place(l)
				l.items = slices.Delete(slices.Clone(l.items), at, at+1)
			}
		case "double":
			if l := g.anyList(); l != nil {
				from, to := g.place(l), g.place(l)
				l.items = slices.Insert(slices.Clone(l.items), to, l.items[from])
			}
		case "move":
			if l := g.anyList(); l != nil {
				from, to := g.place(l), g.place(l)
				item := l.items[from]
				items := slices.Delete(slices.Clone(l.items), from, from+1)
				l.items = slices.Insert(items, to, item)
			}
		case "same ids":
			// Some servers number the calls of every reply from zero.
			for i, c := range g.ids {
				c.text = []string{"call_0", "call_1"}[i%2]
			}
		case "rename":
			if len(g.ids) > 1 {
				rapid.SampledFrom(g.ids).Draw(g.t, "renamed").text = g.ids[0].text
			}
		case "second history":
			if g.one(4, "second") {
				body.members = slices.Insert(body.members, 0,
					member{g.historyKey(body), raw(`[{"role":"user","content":"other"}]`)})
			}
		}
	}
}

// anyList draws a list that has items, nil if there is none.
func (g *gen) anyList() *list {
	var full []*list
	for _, l := range g.lists {
		if len(l.items) > 0 {
			full = append(full, l)
		}
	}
	if len(full) == 0 {
		return nil
	}
	return rapid.SampledFrom(full).Draw(g.t, "list")
}

func (g *gen) place(l *list) int {
	return rapid.IntRange(0, len(l.items)-1).Draw(g.t, "place")
}

func (g *gen) historyKey(body *object) string {
	for _, m := range body.members {
		if m.key == "input" || m.key == "contents" {
			return m.key
		}
	}
	return "messages"
}
