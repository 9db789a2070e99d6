package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// SPEC B3: below what the model accepts, a summary that fails leaves the history as it is,
// and the model is asked again only when a tenth has come since.
func TestASummaryThatFailsLeavesTheHistory(t *testing.T) {
	asked := 0
	c := NewCondensing(CondenseOptions{Inline: true,
		Condenser: condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
			asked++
			return condense.Output{Cost: 0.25}, errors.New("no answer")
		})})
	defer c.Close()
	s := newStage(t, Options{Condense: c, Thresholds: window.Thresholds{Global: 5}})
	a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "chat"}}
	var list []string
	for turn := range 24 {
		list = append(list, said("user", fmt.Sprintf("turn %d %s", turn, strings.Repeat("word ", 800))))
		call := s.find(sent(list...), a)
		if err := s.show(call, a); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(call.Body, call.body.Data()) || call.After > call.Budget {
			t.Fatalf("turn %d: %d of %d tokens are sent, the budget is %d", turn, call.After, call.Before, call.Budget)
		}
		if told := call.Unused.Error != ""; told != call.Asked || told && call.Unused.Cost != 0.25 {
			t.Errorf("turn %d: asked %v, %+v", turn, call.Asked, call.Unused)
		}
		reply := said("assistant", fmt.Sprintf("so be it %d", turn))
		s.end(call, []byte(reply))
		list = append(list, reply)
	}
	if asked == 0 || asked > 8 {
		t.Errorf("the model was asked %d times", asked)
	}
}

// SPEC B7: a result says that a model was asked for a summary only if it was.
func TestAskedIsToldOnlyIfAModelWasAsked(t *testing.T) {
	asked := false
	c := NewCondensing(CondenseOptions{Inline: true,
		Condenser: condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
			asked = true
			return condense.Output{Text: "the user counts turns"}, nil
		})})
	defer c.Close()
	var list []string
	for turn := range 12 {
		list = append(list, said("user", fmt.Sprintf("turn %d %s", turn, strings.Repeat("word ", 200))),
			said("assistant", "so be it"))
	}
	list = append(list, said("user", "and now?"))
	seen := map[bool]int{}
	for budget := 60; budget < 4000; budget += 140 {
		s := newStage(t, Options{Condense: c})
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "thrifty", Budget: budget}}
		s.began(sent(list...), a)
		call := s.find(sent(list...), a)
		asked = false
		if err := s.show(call, a); err != nil {
			continue
		}
		if seen[asked]++; call.Asked != asked {
			t.Errorf("budget %d: asked %v, told %v", budget, asked, call.Asked)
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("asked: %v", seen)
	}
}
