package recall

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRecallFindsByWordAndByMeaning(t *testing.T) {
	model := &bags{same: map[string]string{"violoncello": "cello", "instrument": "cello"}}
	s := scopeOf(t, Options{Model: model}, talk(holiday))
	r := find(t, s, "Where did Ann go with the dogs?", RecallOptions{Budget: 60})
	if best(r) != "1" || r.Mode != Hybrid || r.Passages[0].Keyword == 0 {
		t.Errorf("by word: %+v", r)
	}
	r = find(t, s, "instrument", RecallOptions{Mode: Dense, Floor: -1, Top: 1})
	if best(r) != "5" || r.Mode != Dense || r.Passages[0].Keyword != 0 {
		t.Errorf("by meaning: %+v", r)
	}
}

func TestWhatStandsBesideAMatchIsFound(t *testing.T) {
	s := scopeOf(t, Options{}, talk(holiday))
	r := find(t, s, "Did the weather hold?", RecallOptions{Budget: 60})
	if got := blocks(r); !strings.Contains(got, "2") || !strings.Contains(got, "3") {
		t.Errorf("found %q", got)
	}
	w := DefaultWeights()
	w.Without("neighbours")
	plain := scopeOf(t, Options{Weights: &w}, talk(holiday))
	a, b := find(t, s, "weather", RecallOptions{Floor: -1, Top: -1}),
		find(t, plain, "weather", RecallOptions{Floor: -1, Top: -1})
	if a.Passages[2].Score <= b.Passages[2].Score {
		t.Errorf("a neighbour scores %v with and %v without", a.Passages[2].Score, b.Passages[2].Score)
	}
}

func TestNeighboursEndWithTheSession(t *testing.T) {
	s := scopeOf(t, Options{}, talk(holiday))
	if got := near(s, 3); got != [lags]int32{1, 2, -1, -1} {
		t.Errorf("last of a session: %v", got)
	}
	if got := near(s, 4); got != [lags]int32{-1, -1, 5, 6} {
		t.Errorf("first of a session: %v", got)
	}
}

func TestTheNamedSpeakerGoesFirst(t *testing.T) {
	s := scopeOf(t, Options{},
		talk("Ann: my favourite colour is a dark green\nBen: my favourite colour is a dark green"))
	if got := best(find(t, s, "What is Ben's favourite colour?", RecallOptions{})); got != "2" {
		t.Errorf("Ben: %s", got)
	}
	if got := best(find(t, s, "What is Ann's favourite colour?", RecallOptions{})); got != "1" {
		t.Errorf("Ann: %s", got)
	}
	if got := s.people.favour("what do Ann and Ben like?"); !cmp.Equal(got, []float32{0, 0}) {
		t.Errorf("both: %v", got)
	}
}

func TestTheUsersWordsGoFirstUnlessTheAssistantsAreAskedFor(t *testing.T) {
	s := scopeOf(t, Options{},
		talk("user: the database should be PostgreSQL on a big server\nassistant: the database should be PostgreSQL on a big server"))
	if got := best(find(t, s, "Which database should it be?", RecallOptions{})); got != "1" {
		t.Errorf("a fact: %s", got)
	}
	said := find(t, s, "Which database did you recommend?", RecallOptions{})
	if said.Passages[0].Score > said.Passages[1].Score {
		t.Errorf("the assistant's words: %v", said.Passages)
	}
}

func TestAnUnrelatedQueryBringsNothing(t *testing.T) {
	for _, model := range []*bags{nil, {}} {
		o := Options{}
		if model != nil {
			o.Model = model
		}
		s := scopeOf(t, o, talk(holiday))
		for _, query := range []string{"kubectl rollout restart deployment", "", "   ", "?", "the of and"} {
			r := find(t, s, query, RecallOptions{Budget: 4000})
			if len(r.Passages) > 0 || r.Text != "" || r.Tokens != 0 {
				t.Errorf("model %v: %q brings %q", model != nil, query, r.Text)
			}
		}
	}
	empty := NewScope(Options{Model: &bags{}})
	if r := find(t, empty, "anything?", RecallOptions{}); len(r.Passages) > 0 {
		t.Errorf("an empty scope brings %v", r)
	}
}

func TestScoresAreZeroToOne(t *testing.T) {
	s := scopeOf(t, Options{Model: &bags{}}, talk(holiday))
	for _, query := range []string{"the dogs in Norway", "Lisbon?", "cello teacher", "zebra"} {
		for _, p := range find(t, s, query, RecallOptions{Floor: -1}).Passages {
			if p.Score < 0 || p.Score > 1 || p.Keyword < 0 || p.Keyword > 1 || p.Dense < 0 || p.Dense > 1 {
				t.Errorf("%q: %+v", query, p)
			}
		}
	}
}

func TestWhatTheWindowShowsIsNotRepeated(t *testing.T) {
	// SPEC D3
	s := scopeOf(t, Options{}, talk(holiday))
	const query = "Where did Ann go with the dogs?"
	all := find(t, s, query, RecallOptions{Floor: -1})
	r := find(t, s, query, RecallOptions{Floor: -1, Exclude: func(block string) bool { return block == "1" }})
	if strings.Contains(r.Text, "Norway") {
		t.Errorf("shown again: %s", r.Text)
	}
	if want := strings.TrimPrefix(blocks(all), "1 "); !strings.HasPrefix(blocks(all), "1 ") || want == "" ||
		blocks(r) != want {
		t.Errorf("without the first of %s: %s", blocks(all), blocks(r))
	}
}

func TestRemovedMessagesAreGone(t *testing.T) {
	s := scopeOf(t, Options{Model: &bags{}}, talk(holiday))
	s.Remove("1", "3", "no such block")
	s.Remove("1")
	r := find(t, s, "Where did Ann go with the dogs in Norway?", RecallOptions{Floor: -1})
	if got := blocks(r); got != "2 4 5 6 7 8" {
		t.Errorf("left: %s", got)
	}
	if got := near(s, 3); got != [lags]int32{-1, 1, -1, -1} {
		t.Errorf("neighbours close the gap: %v", got)
	}
	// The last message may go, and the talk goes on.
	s.Remove("8")
	if err := s.Add(t.Context(),
		[]Message{{Conversation: "c", Block: "9", Role: "user", Name: "Ben", Time: monday.AddDate(0, 0, 7),
			Text: "The dogs of Norway again."}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Embed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := best(find(t, s, "the dogs of Norway?", RecallOptions{})); got != "9" {
		t.Errorf("found %s", got)
	}
}

func TestABlockIsAddedOnce(t *testing.T) {
	s := scopeOf(t, Options{}, talk(holiday))
	if err := s.Add(t.Context(), talk(holiday)); err != nil {
		t.Fatal(err)
	}
	if n, _ := s.Len(); n != 8 {
		t.Errorf("%d passages", n)
	}
}

func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	var first *Result
	for range 5 {
		s := scopeOf(t, Options{Model: &bags{}}, talk(holiday))
		r := find(t, s, "What does Ann practise?", RecallOptions{Budget: 60})
		r.TookMS = 0
		if first == nil {
			first = r
		} else if diff := cmp.Diff(first, r); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestWordsAnswerWhileVectorsAreMissing(t *testing.T) {
	s := NewScope(Options{Model: &bags{}})
	if err := s.Add(t.Context(), talk(holiday)); err != nil {
		t.Fatal(err)
	}
	r := find(t, s, "Where did Ann go with the dogs?", RecallOptions{})
	if r.Mode != Keyword || best(r) != "1" {
		t.Errorf("no vectors: %+v", r)
	}
	if err := s.Embed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r = find(t, s, "Where did Ann go with the dogs?", RecallOptions{}); r.Mode != Hybrid {
		t.Errorf("with vectors: %s", r.Mode)
	}
	// Messages that came since have no vector, and are found all the same.
	if err := s.Add(t.Context(),
		[]Message{{Conversation: "c", Block: "9", Role: "user", Name: "Ben",
			Text: "The accordion is out of tune."}}); err != nil {
		t.Fatal(err)
	}
	if got := best(find(t, s, "accordion", RecallOptions{Floor: -1})); got != "9" {
		t.Errorf("found %s", got)
	}
}

func TestASlowModelDoesNotKeepTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &bags{}
		s := scopeOf(t, Options{Model: model}, talk(holiday))
		model.slow = time.Hour
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		r, err := s.Recall(ctx, "Where did Ann go with the dogs?", RecallOptions{})
		if err != nil || r.Mode != Keyword || best(r) != "1" || time.Since(began) > 200*time.Millisecond {
			t.Errorf("after %v: %v %+v", time.Since(began), err, r)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := s.Recall(stopped, "Where?", RecallOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		time.Sleep(time.Hour) // until the model has answered
	})
}

func TestScopesServeManyAtOnce(t *testing.T) {
	s := NewScope(Options{Model: &bags{}})
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 30 {
				block := fmt.Sprintf("%d-%d", g, i)
				if err := s.Add(t.Context(),
					[]Message{{Conversation: fmt.Sprint(g), Block: block, Role: "user",
						Text: "the dogs of Norway number " + block}}); err != nil {
					t.Error(err)
				}
				if _, err := s.Recall(t.Context(), "dogs of Norway?", RecallOptions{}); err != nil {
					t.Error(err)
				}
				if i%10 == 9 {
					s.Remove(block)
					if err := s.Embed(t.Context(), nil); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	if n, _ := s.Len(); n != 120 {
		t.Errorf("%d passages", n)
	}
}

func TestDenseKeepsItsFloorAndTop(t *testing.T) {
	// SPEC D2
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, "user: mountains and rivers number %d\n", i)
	}
	lines.WriteString("user: quarterly accounting spreadsheet\n")
	s := scopeOf(t, Options{Model: &bags{}}, talk(lines.String()))
	r := find(t, s, "mountains and rivers", RecallOptions{Mode: Dense})
	if len(r.Passages) != DefaultDenseTop {
		t.Errorf("%d passages", len(r.Passages))
	}
	for _, p := range find(t, s, "mountains and rivers", RecallOptions{Mode: Dense, Top: -1}).Passages {
		if p.Score < DefaultDenseFloor {
			t.Errorf("below the floor: %+v", p)
		}
	}
}

func TestTheBestSessionsComeFirst(t *testing.T) {
	s := scopeOf(t, Options{}, talk(holiday))
	ranking, err := s.Rank(t.Context(), "the cello teacher?", RecallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"5", "6", "7", "8"}, {"1", "2", "3", "4"}}
	if diff := cmp.Diff(want, ranking.Sessions(10)); diff != "" {
		t.Error(diff)
	}
}

// What the caller does not want is not shown, however much there is of it.
func TestAStrictBoostLeavesOutTheRest(t *testing.T) {
	var messages []Message
	for i := range 1000 {
		text := fmt.Sprintf("The weather of day %d was fine in the town.", i)
		if i%400 == 7 {
			text = fmt.Sprintf("The weather of day %d had an error in the town.", i)
		}
		messages = append(messages, Message{Conversation: "c", Block: fmt.Sprint(i), Role: "user",
			Time: monday.Add(time.Duration(i) * time.Minute), Text: text})
	}
	s := scopeOf(t, Options{}, messages)
	r := find(t, s, "How was the weather in the town?", RecallOptions{Boost: func(text string) float32 {
		if strings.Contains(text, "error") {
			return .5
		}
		return float32(math.Inf(-1))
	}})
	if len(r.Passages) == 0 || strings.Contains(r.Text, "fine") {
		t.Errorf("found %s", r.Text)
	}
}

// SPEC D3: what the window shows takes no place among the candidates.
func TestWhatIsShownStarvesNothing(t *testing.T) {
	messages := []Message{{Conversation: "c", Block: "old", Role: "user", Time: monday,
		Text: "The staging server was moved behind the firewall last year and listens on 9321."}}
	for i := range 400 {
		messages = append(messages, Message{Conversation: "c", Block: fmt.Sprint(i), Role: "user",
			Time: monday.Add(time.Duration(i+1) * 7 * time.Hour),
			Text: fmt.Sprintf("Which port does the staging server listen on, asked %d?", i)})
	}
	s := scopeOf(t, Options{}, messages)
	r := find(t, s, "Which port does the staging server listen on?",
		RecallOptions{Budget: 256, Exclude: func(block string) bool { return block != "old" }})
	if blocks(r) != "old" {
		t.Errorf("found %q", blocks(r))
	}
}

func TestTopCountsDirectivesToo(t *testing.T) {
	s := scopeOf(t, Options{},
		talk("user: Always answer in French.\nuser: Never use emojis in replies.\nuser: The harbour of Trieste is deep.\nuser: The harbour of Pula is not deep."))
	if r := find(t, s, "how deep is the harbour?", RecallOptions{Top: 2, Directives: 100}); len(r.Passages) != 2 {
		t.Errorf("found %s", blocks(r))
	}
}

// SPEC D3: of what was said several times in the same words the newest is shown, but
// where a date is asked for that of the date.
func TestTheSameWordsAreShownOnce(t *testing.T) {
	said := "user: The staging server listens on port 9321.\n"
	s := scopeOf(t, Options{}, talk(said+"\n\n\n"+said+"\n"+said))
	if r := find(t, s, "Which port does the staging server listen on?", RecallOptions{}); strings.Count(r.Text,
		"9321") != 1 || blocks(r) != "3" {
		t.Errorf("found %s", r.Text)
	}
	if r := s.Newest().Pack(RecallOptions{Floor: -1}); blocks(r) != "1 2 3" {
		t.Errorf("a window of %s", r.Text)
	}
	if r := find(t, s, "Which port did the server listen on, said on 6 May 2024?",
		RecallOptions{Top: 1}); blocks(r) != "1" {
		t.Errorf("found %s", r.Text)
	}
}

func TestSpeakersAreNamedByWholeWords(t *testing.T) {
	p := people{}
	p.add("Al")
	p.add("Ann")
	for query, want := range map[string]string{"Is it final?": "[0 0]", "What did Al's dog do?": "[1 -1]",
		"ann, al": "[0 0]", "Annals of Ann": "[-1 1]", "": "[0 0]"} {
		if got := fmt.Sprint(p.favour(query)); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

func TestOnlyWhatWasSaidInARangeOfTimeIsFound(t *testing.T) {
	s := scopeOf(t, Options{Model: &bags{}},
		append(talk(holiday), Message{Conversation: "c", Block: "undated", Role: "user",
			Text: "The dogs of Norway have no date."}))
	const query = "Where did Ann go with the dogs?"
	all := find(t, s, query, RecallOptions{Floor: -1})
	times := map[string]time.Time{}
	for _, p := range all.Passages {
		if p.Time != nil {
			times[p.Block] = *p.Time
		}
	}
	if len(times) < 3 || len(times) == len(all.Passages) {
		t.Fatalf("%d of %d passages have a time", len(times), len(all.Passages))
	}
	middle := times[all.Passages[len(all.Passages)/2].Block]
	for _, o := range []RecallOptions{{Since: middle}, {Until: middle},
		{Since: middle, Until: middle.Add(time.Microsecond)}} {
		o.Floor = -1
		found := map[string]bool{}
		for _, p := range find(t, s, query, o).Passages {
			found[p.Block] = true
		}
		for block, at := range times {
			if want := !at.Before(o.Since) && (o.Until.IsZero() || at.Before(o.Until)); found[block] != want {
				t.Errorf("since %v until %v: message %s of %v is found: %v", o.Since, o.Until, block, at, found[block])
			}
		}
		if found["undated"] {
			t.Errorf("since %v until %v: a message without a time is found", o.Since, o.Until)
		}
	}
}

// A passage that the window shows already hides no other of the same message.
//
// SPEC D3
func TestHadPassagesHideNoOthers(t *testing.T) {
	text := strings.Repeat("The staging server writes its log to the disk every night. ", 8) + "\n" +
		strings.Repeat("Deliveries of coffee arrive on Mondays. ", 12) + "\nThe staging server listens on port 6543.\n"
	s := scopeOf(t, Options{}, []Message{{Conversation: "c", Block: "1", Role: "tool", Text: text}})
	const query = "Which port does the staging server listen on?"
	had := map[int]bool{}
	for range 2 {
		r := find(t, s, query, RecallOptions{Floor: -1, Top: 1,
			Had: func(block string, part int) bool { return block == "1" && had[part] }})
		if len(r.Passages) != 1 || had[r.Passages[0].Part] {
			t.Fatalf("found %+v, had %v", r.Passages, had)
		}
		had[r.Passages[0].Part] = true
	}
}
