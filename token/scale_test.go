package token

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
)

// SPEC B6: a long conversation whose tools the table counts too high teaches an offset below
// 0. Small requests do not vanish because of it, and a new conversation with the same tools
// is counted as well as before.
func TestALongConversationDoesNotEmptySmallRequests(t *testing.T) {
	p := provider{1.06, -550, rand.New(rand.NewPCG(5, 5))}
	var c Calibration
	for call := range 120 {
		x := 1250 + 180*call
		c.Observe("m", x, p.report(x))
	}
	s := c.Scale("m")
	if s.Offset > -300 || s.Least < 10_000 {
		t.Fatalf("%+v: want an offset below 0 and only large requests", s)
	}
	for _, x := range []int{1, 17, 36, 200, 300} { // without tools: text alone
		if got := s.Apply(x); math.Abs(float64(got)-s.Slope*float64(x)) > 0.5 {
			t.Errorf("%d tokens without tools count %d by %+v", x, got, s)
		}
	}
	for _, x := range []int{2_000, 4_000, 8_000} {
		if e := relative(s.Apply(x), p.truth(x)); e > 0.06 {
			t.Errorf("%d tokens with tools are off by %.3f", x, e)
		}
	}
}

// Some small requests without tools among large ones with tools are not what the line
// explains, and do not bend it where they are.
func TestRequestsThatTheLineMissesAreNotItsLeast(t *testing.T) {
	var c Calibration
	for call := range 60 {
		x := 8_000 + 700*call
		c.Observe("m", x, x-2_000)
		if call%15 == 7 {
			c.Observe("m", 4_000, 4_000)
		}
	}
	if s := c.Scale("m"); s.Offset > -1_500 || s.Least < 8_000 || s.Apply(1_500) < 1_400 {
		t.Errorf("%+v makes %d of 1500", s, s.Apply(1_500))
	}
}

// drawFitted draws what some observations teach.
var drawFitted = rapid.Custom(func(t *rapid.T) Scale {
	slope, offset := rapid.Float64Range(0.4, 3).Draw(t, "slope"), rapid.Float64Range(-9000, 3000).Draw(t, "offset")
	var pairs []pair
	for range rapid.IntRange(3, 20).Draw(t, "pairs") {
		x := float64(rapid.IntRange(calibrateMinTokens, 60_000).Draw(t, "x"))
		y := math.Round((slope*x + offset) * rapid.Float64Range(0.95, 1.05).Draw(t, "noise"))
		if p, ok := readPair(int(x), int(y)); ok {
			pairs = append(pairs, p)
		}
	}
	return fit(pairs)
})

// A corrected count grows with the local one, without jumps, is 0 for nothing only, and is
// the line wherever calls were observed. With an offset below 0 it keeps to the ratios that
// a provider may have.
func TestApplyIsContinuousAndNeverZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(drawFitted, drawScale).Draw(t, "scale")
		if !s.Calibrated() {
			t.Skip("too few observations")
		}
		from := rapid.IntRange(0, 12_000).Draw(t, "from")
		for x := from; x < from+300; x++ {
			got, next, line := s.Apply(x), s.Apply(x+1), s.Slope*float64(x)+s.Offset
			if next < got || float64(next-got) > max(s.Slope, calibrateMinRatio)+1 {
				t.Fatalf("%+v: %d counts %d, %d counts %d", s, x, got, x+1, next)
			}
			if got == 0 && x > 0 || x == 0 && s.Offset <= 0 && got != 0 {
				t.Fatalf("%+v: %d counts %d", s, x, got)
			}
			if known := s.Offset >= 0 || s.Least > 0 && x >= s.Least && line >= calibrateMinRatio*float64(x); known &&
				x > 0 && math.Abs(float64(got)-line) > 0.5 && got > 1 {
				t.Fatalf("%+v: %d counts %d, want the line, %.1f", s, x, got, line)
			}
			if low, high := calibrateMinRatio*float64(x)-0.5, calibrateMaxRatio*float64(x)+0.5; s.Offset < 0 &&
				(float64(got) < low || float64(got) > high) {
				t.Fatalf("%+v: %d counts %d", s, x, got)
			}
		}
	})
}

// most is the inverse of Apply.
func TestMostIsTheLargestTotalWithinACount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(drawFitted, drawScale).Draw(t, "scale")
		tokens, limit := rapid.IntRange(0, 9_000).Draw(t, "tokens"), rapid.IntRange(0, 40_000).Draw(t, "limit")
		x := s.most(tokens, limit)
		if x < 0 || x > limit || x > 0 && s.Apply(x) > tokens || x < limit && s.Apply(x+1) <= tokens {
			t.Fatalf("%+v: at most %d are %d of %d", s, tokens, x, limit)
		}
	})
}

// An offset below 0 is not known to be an error of one part: all bear it in proportion, and
// none of them vanishes.
func TestAnOffsetBelowZeroEmptiesNoPart(t *testing.T) {
	r := &chat.Request{
		System: []chat.Part{{Kind: chat.Text,
			Text: chat.Quote("Read first, then answer in one sentence, and name the file.")}},
		Tools: []chat.ToolDef{{Name: "w", Raw: []byte(weatherTool)}},
		Messages: append(transcript(6, 800),
			chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote("Yes")}}}),
	}
	m := Builtin().Lookup("claude-opus-4-6")
	local := NewCounter(m, Options{}).Request(r)
	for _, offset := range []float64{-1, -300, -900} {
		s := Scale{Slope: 1.06, Offset: offset, Error: 0.01, N: 64}
		b := NewCounter(m, Options{Scale: s}).Request(r)
		near := func(name string, got, was int) {
			want := float64(was) * float64(b.Total) / float64(local.Total)
			if got < 1 || math.Abs(float64(got)-want) > 1 {
				t.Errorf("offset %v: %s has %d tokens of %d, want %.1f of %d", offset, name, got, local.Total, want,
					b.Total)
			}
		}
		near("the system prompt", b.System, local.System)
		near("tools", b.Tools, local.Tools)
		near("overhead", b.Overhead, local.Overhead)
		for i, n := range b.Messages {
			near("a message", n, local.Messages[i])
		}
	}
}

// The error bar is that of observed calls. Nobody knows the error for smaller ones.
func TestBelowWhatWasObservedACountIsAnEstimate(t *testing.T) {
	m, r := Builtin().Lookup("claude-opus-5"), &chat.Request{Messages: transcript(20, 2000)}
	local := NewCounter(m, Options{}).Request(r).Local
	var c Calibration
	for i := range 10 {
		c.Observe("m", local+1000*i, (local+1000*i)*11/10)
	}
	s := c.Scale("m")
	if b := NewCounter(m, Options{Scale: s}).Request(r); b.Accuracy != Calibrated || b.Error != s.Error {
		t.Errorf("%+v of %+v", b, s)
	}
	r.Messages = r.Messages[:18]
	if b := NewCounter(m, Options{Scale: s}).Request(r); b.Accuracy != Estimate || b.Error != 0 ||
		b.Total != s.Apply(b.Local) {
		t.Errorf("%+v of %+v", b, s)
	}
}
