// Package view replays recorded agent sessions through the sticky view, call
// by call, and measures each call: whether it is valid and within the budget,
// how much of its beginning stays, its price with the provider's cache, and
// whether the view contained what the agent needed next.
//
//	./scripts/check view [-window 32000,64000,100000] [-prefix 18000] [-as chat] [-recall words]
//		[-unnamed] [-rewrite-replies] PATH…
//
// The window is the budget of the whole request. Blanked signatures of
// thinking are replaced by invented ones. Cost is in units of one uncached
// input token. A token of the prefix shared with the session's last call, up
// to the last equal message, costs 0.1; other tokens cost 1.25, and so do all
// tokens if the last call was more than five minutes ago by the recording's
// clock, or used another model. A session continues after its agent's own
// compaction; append-only is what the agent sent.
package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/tools/transcript"
)

var ctx = context.Background()

// Check replays the sessions of the paths.
func Check(args []string) error {
	flags := kit.Flags("view")
	windows := flags.String("window", "32000,64000,100000", "budgets, in tokens")
	prefix := flags.Int("prefix", 0, "tokens of a made-up system prompt, which stands for system prompt and tools")
	as := flags.String("as", "", "translate Claude Code sessions: chat, responses")
	back := flags.String("recall", "none", "bring back what is needed: none, words, hybrid")
	profile := flags.String("profile", "", "profile of the calls; with -window 0 its own budget holds")
	unnamed := flags.Bool("unnamed", false, "name no session: whose a call is must be told from its messages")
	rewrites := flags.Bool("rewrite-replies", false,
		"have the client keep other words than the model's, in every reply")
	each := flags.Bool("sessions", false, "print every session")
	prompts := flags.Bool("prompts", false, "print what a person said in every turn, with the tokens recalled for it")
	paths := kit.Parse(flags, args)
	if *rewrites && *as == "responses" {
		return errors.New("-rewrite-replies is for the formats that have messages, not items")
	}
	r := replay{prefix: *prefix, profile: *profile, unnamed: *unnamed, rewrites: *rewrites, prompts: *prompts}
	switch *back {
	case "none":
	case "words":
		r.recall = &recall.LibraryOptions{}
	case "hybrid":
		model, err := minilm.Open(minilm.Options{})
		if err != nil {
			return err
		}
		defer model.Close()
		r.recall = &recall.LibraryOptions{Model: model}
	default:
		return fmt.Errorf("recall %q: want none, words or hybrid", *back)
	}
	var sessions []*transcript.Session
	err := kit.Sessions(paths, func(s *transcript.Session) error {
		s, err := r.prepare(s, *as)
		sessions = append(sessions, s)
		return err
	})
	if err != nil {
		return err
	}
	failed := 0
	for text := range strings.SplitSeq(*windows, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("window %q: want a number of tokens", text)
		}
		r.window = n
		wrong, err := r.all(sessions, *each)
		if err != nil {
			return err
		}
		failed += wrong
	}
	return kit.Failed(failed)
}

// all replays the sessions at one window size and returns how many calls were
// wrong.
func (r *replay) all(sessions []*transcript.Session, each bool) (int, error) {
	var total tally
	tallies := make([]*tally, 0, len(sessions))
	for _, s := range sessions {
		t, err := r.session(s)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", s.Name, err)
		}
		total.add(t)
		tallies = append(tallies, t)
		if each {
			fmt.Printf("%-24.24s %s\n", s.Name, t)
		}
	}
	slices.SortStableFunc(tallies, func(a, b *tally) int { return b.whole - a.whole })
	var longest tally
	for _, t := range tallies[:min(5, len(tallies))] {
		longest.add(t)
	}
	fmt.Printf("window %d: %s\n", r.window, &total)
	if len(tallies) > 5 {
		fmt.Printf("  five longest: %s\n", &longest)
	}
	total.details()
	return total.invalid + total.over, nil
}
