package view

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// Instructions are looked for in a bounded part of what people wrote, the newest first, and
// not at all once nobody waits for the call.
//
// SPEC D8
func TestInstructionsAreSoughtInTheNewestWords(t *testing.T) {
	list := []string{said("user", "Always use tabs in all files."), said("assistant", "I will.")}
	for i := range 4 {
		list = append(list, said("user", strings.Repeat(fmt.Sprintf("word%d ", i), mostSought/16)),
			said("assistant", "I see."))
	}
	list = append(list, said("user", "Never push to the main branch."), said("assistant", "I will not."),
		said("user", "Go on."))
	s := newStage(t, Options{})
	a := ask{format: wire.Anthropic, session: "s"}
	c := s.find(sent(list...), a)
	in := a.Input
	in.Body, in.Thread, in.Now = c.body, c.thread, s.now
	r, err := s.viewer.newRequest(&in)
	if err != nil {
		t.Fatal(err)
	}
	whole := r.Body.Whole()
	e := r.newDraft(nil, whole[len(whole)-1:])
	if got := e.standing(ctx, 1000); !strings.Contains(got, "main branch") || strings.Contains(got, "tabs") {
		t.Errorf("%q", got)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if got := e.standing(gone, 1000); got != "" {
		t.Errorf("nobody waits: %q", got)
	}
}
