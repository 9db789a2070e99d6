package main

import (
	"errors"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report"
)

// SPEC E5: an undo asks only where newer messages leave than come back, and says which.
func TestUndoAsksAboutNewerMessages(t *testing.T) {
	for _, c := range []struct {
		back, leaves []int64
		asks         bool
		says         string
	}{
		{[]int64{24, 25, 26}, []int64{38, 39}, true,
			"undone p3: messages 24-26 will be held in view until oriel release; messages 38-39 will be left out for them"},
		{[]int64{24, 25, 30}, []int64{3, 4}, false,
			"undone p3: messages 24-25,30 will be held in view until oriel release; messages 3-4 will be left out for them"},
		{[]int64{24}, nil, false,
			"undone p3: message 24 will be held in view until oriel release; nothing is left out for them"},
		{nil, nil, false, "undone p3: all that it took out is in view, and held until oriel release"},
	} {
		u := undoing{report.Undo{Plan: "p3", BackIDs: c.back, LeavesIDs: c.leaves}}
		asks := (&oriel.Undoing{Back: c.back, Leaves: c.leaves}).Newer()
		if asks != c.asks || u.String() != c.says {
			t.Errorf("asks %v, %s", asks, &u)
		}
	}
	u := undoing{report.Undo{BackIDs: []int64{24, 25}, LeavesIDs: []int64{38}, BackTokens: 1200, LeavesTokens: 900}}
	if got, want := u.question(),
		"Messages 24-25 will be restored (1,200 tokens), and message 38 left out (900 tokens), which includes newer ones. Continue?"; got != want {
		t.Error(got)
	}
}

// A person who declines an undo has not failed: as with delete, the exit code is 2.
func TestADeclinedUndoIsNoFailure(t *testing.T) {
	var failed *failure
	if err := byCause(errNotAgreed); errors.As(err, &failed) {
		t.Errorf("%v is a failure", err)
	}
}
