package view

import (
	"bytes"
	"testing"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// A message of the client's own, in the place of what it left out itself, is left out or
// replaced by a cut that did so before, and stays as it is where the cut does not know it.
func TestACutTreatsOwnMessagesAsBefore(t *testing.T) {
	const gone, replaced, unknown = `{"role":"user","content":"gone"}`, `{"role":"user","content":"replaced"}`,
		`{"role":"user","content":"unknown"}`
	body, err := wire.Read([]byte(`{"model":"m","messages":[`+gone+`,`+replaced+`,`+unknown+
		`,{"role":"user","content":"the history's"}]}`), wire.Chat, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s := &request{Input: &Input{Body: body, Thread: &thread.Thread{From: 3, Before: make([]timeline.Hash, 9)}}}
	instead := []byte(`{"role":"user","content":"short"}`)
	pieces, err := s.apply(&plan.Plan{ClientOwn: map[timeline.Hash][]byte{s.identity(0): nil, s.identity(1): instead}})
	if err != nil {
		t.Fatal(err)
	}
	if len(pieces) != 3 || pieces[0].Index != 1 || !bytes.Equal(pieces[0].Raw, instead) || pieces[1].Index != 2 ||
		pieces[1].Raw != nil || pieces[2].Index != 3 || pieces[2].Raw != nil {
		t.Errorf("%+v", pieces)
	}
}
