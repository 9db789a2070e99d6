package importer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// readLocomo reads LoCoMo's samples, each a conversation of two speakers in
// sessions. The first speaker gets the role user, the second assistant.
func readLocomo(ctx context.Context, s *source, r io.Reader, to taker) error {
	return eachElement(ctx, s, r, to, func(n int, d document) error {
		talk := d.root.Get("conversation")
		if talk.Kind() != rawjson.Object {
			return brokenLine("conversation: want an object, got " + what(talk))
		}
		name, _ := word(d.root.Get("sample_id"))
		if name == "" || !fits(name, timeline.MaxName) {
			name = strconv.Itoa(n)
		}
		first := talk.Get("speaker_a").Str()
		for _, number := range sessionNumbers(talk) {
			key := "session_" + strconv.Itoa(number)
			when := s.modified
			if t, err := time.Parse("3:04 pm on 2 January, 2006",
				strings.ToLower(talk.Get(key+"_date_time").Str())); err == nil {
				when = t
			}
			i := 0
			for turn := range talk.Get(key).Elems() {
				m := timeline.Message{Raw: d.raw(turn), Format: timeline.FormatLocomo, Role: "assistant", Time: when}
				if turn.Get("speaker").EqualStr(first) {
					m.Role = "user"
				}
				ref, ok := word(turn.Get("dia_id"))
				if turn.Get("text").Kind() != rawjson.String || !ok || !fits(ref, timeline.MaxRef) {
					to.broken(0, fmt.Sprintf("%s: %s[%d]: want text and dia_id", name, key, i))
				} else {
					m.Ref = ref
					m.Identity = identity(timeline.TextIdentity(turn.Get("speaker").Str(), turn.Get("text").Str()), ref)
					if err := to.take(ctx, name, m); err != nil {
						return err
					}
				}
				i++
			}
		}
		return nil
	})
}

// sessionNumbers returns the numbers of a conversation's sessions, in order.
func sessionNumbers(talk rawjson.Value) []int {
	var numbers []int
	for key, v := range talk.Members() {
		if digits, ok := strings.CutPrefix(key.Str(), "session_"); ok && v.Kind() == rawjson.Array {
			if n, err := strconv.Atoi(digits); err == nil && strconv.Itoa(n) == digits {
				numbers = append(numbers, n)
			}
		}
	}
	slices.SortFunc(numbers, cmp.Compare)
	return slices.Compact(numbers)
}

// readBeam reads a BEAM chat: batches of lists of turns. A turn without a time
// gets that of the turn before.
func readBeam(ctx context.Context, s *source, r io.Reader, to taker) error {
	name := s.label
	when := s.modified
	return eachElement(ctx, s, r, to, func(n int, d document) error {
		return eachTurn(d.root, 0, func(turn rawjson.Value) error {
			if t, err := time.Parse("January-02-2006", turn.Get("time_anchor").Str()); err == nil {
				when = t
			}
			role, ok := word(turn.Get("role"))
			ref, refOK := word(turn.Get("id"))
			if !ok || !refOK || !fits(role, timeline.MaxName) || !fits(ref, timeline.MaxRef) {
				to.broken(0, fmt.Sprintf("batch %d: a turn whose role or id is neither a string nor a number", n+1))
				return nil
			}
			m := timeline.Message{Raw: d.raw(turn), Format: timeline.FormatBeam, Role: role, Time: when, Ref: ref}
			m.Identity = identity(timeline.TextIdentity(role, turn.Get("content").Str()), ref)
			return to.take(ctx, name, m)
		})
	})
}

// eachTurn visits the objects with role and content in nested lists of any depth:
// the longest chats wrap their batches in plans.
func eachTurn(v rawjson.Value, depth int, visit func(rawjson.Value) error) error {
	if depth > 12 {
		return nil
	}
	if v.Kind() == rawjson.Object {
		if v.Has("role") && v.Get("content").Kind() == rawjson.String {
			return visit(v)
		}
		for _, member := range v.Members() {
			if err := eachTurn(member, depth+1, visit); err != nil {
				return err
			}
		}
	}
	for e := range v.Elems() {
		if err := eachTurn(e, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// readTauBench reads results of tau-bench: each run is a conversation of Chat Completions
// messages.
func readTauBench(ctx context.Context, s *source, r io.Reader, to taker) error {
	return eachElement(ctx, s, r, to, func(n int, d document) error {
		name := s.label + "#" + strconv.Itoa(n)
		for raw := range d.root.Get("traj").Elems() {
			m, err := bodyMessage(d.raw(raw), OpenAI)
			if err != nil {
				to.broken(0, fmt.Sprintf("run %d: %v", n, err))
				continue
			}
			m.Time = s.modified
			if err := to.take(ctx, name, m); err != nil {
				return err
			}
		}
		return nil
	})
}
