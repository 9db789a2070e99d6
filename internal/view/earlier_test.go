package view

import (
	"testing"

	"github.com/oriel-context/oriel/recall"
)

func TestEarlierConversationsAreSilentUnlessTheyAreNear(t *testing.T) {
	for _, tc := range []struct {
		passages []recall.Passage
		want     bool
	}{
		{nil, false},
		{[]recall.Passage{{Score: 1, Dense: .6}, {Score: .5}}, true},
		{[]recall.Passage{{Score: 1, Dense: .2}, {Score: .5, Dense: .5}}, true},
		{[]recall.Passage{{Score: .7, Keyword: .3}}, true}, // no vectors yet
		{[]recall.Passage{{Score: .6, Keyword: .3}}, false},
		{[]recall.Passage{{Score: 1, Dense: .3}}, false},
		{[]recall.Passage{{Score: .7, Dense: .6}}, false},
	} {
		if got := aboutProject(tc.passages); got != tc.want {
			t.Errorf("%+v: %v", tc.passages, got)
		}
	}
}
