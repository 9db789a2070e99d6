package main

import (
	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

// shownBranch is where a branch ends and how much it shares with the current
// branch.
type shownBranch struct {
	Branch int   `json:"branch"`
	Last   int64 `json:"last"`
	// Shared is the last id that it shares with branch 0.
	Shared int64 `json:"shared"`
	// Words are the first words of the message after that one.
	Words string `json:"words"`
}

// maxBranchWords is how many characters of a branch's first message are shown.
const maxBranchWords = 80

// maxBranches is how many branches are listed, the newest first.
const maxBranches = 20

// branchesOf returns the newest branches, and how many older ones there are.
func branchesOf(cmd *cobra.Command, s tenantStore,
	heads []timeline.Place) (branches []shownBranch, older int, err error) {
	branches = []shownBranch{}
	if len(heads) < 2 {
		return branches, 0, nil
	}
	// The way to the current head, as the last place of each trunk. A place is
	// on the way if the way leaves its trunk no earlier.
	leaves := map[int64]int64{}
	err = s.Messages(cmd.Context(), s.tenant, heads[0], 1, heads[0].Depth, true, func(e *timeline.Entry) error {
		leaves[e.Place.Trunk] = e.Place.Depth
		return nil
	})
	if err != nil {
		return nil, 0, &failure{err}
	}
	older = max(0, len(heads)-1-maxBranches)
	for i := 1 + older; i < len(heads); i++ {
		shared, err := sharedDepth(cmd, s, leaves, heads[i])
		if err != nil {
			return nil, 0, &failure{err}
		}
		b := shownBranch{Branch: i, Last: heads[i].Depth, Shared: shared}
		err = s.Messages(cmd.Context(), s.tenant, heads[i], shared+1, shared+1, false, func(e *timeline.Entry) error {
			b.Words = term.OneLine(e.Text(), maxBranchWords)
			return nil
		})
		if err != nil {
			return nil, 0, &failure{err}
		}
		branches = append(branches, b)
	}
	return branches, older, nil
}

// sharedDepth returns how many messages a branch shares with a way. It
// searches back from the branch's end in growing steps, so that a late
// branching point is cheap.
func sharedDepth(cmd *cobra.Command, s tenantStore, leaves map[int64]int64, end timeline.Place) (int64, error) {
	shares := func(depth int64) (bool, error) {
		at, err := placeAt(cmd, s, end, depth)
		return at.Depth <= leaves[at.Trunk], err
	}
	low, high := int64(0), end.Depth // they share at least low and at most high
	for step := int64(1); low < high; step *= 2 {
		at := max(1, high-step+1)
		on, err := shares(at)
		if err != nil {
			return 0, err
		}
		if on {
			low = at
			break
		}
		high = at - 1
	}
	for low < high {
		middle := (low + high + 1) / 2
		on, err := shares(middle)
		if err != nil {
			return 0, err
		}
		if on {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}

func placeAt(cmd *cobra.Command, s tenantStore, head timeline.Place, depth int64) (at timeline.Place, err error) {
	err = s.Messages(cmd.Context(), s.tenant, head, depth, depth, true, func(e *timeline.Entry) error {
		at = e.Place
		return nil
	})
	return at, err
}
