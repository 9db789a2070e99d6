package token

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// sharedPlace is a place in memory for several Learnt.
type sharedPlace struct {
	mu      sync.Mutex
	data    []byte
	version int
	away    bool
}

func (p *sharedPlace) String() string { return "a shared place" }

func (p *sharedPlace) Stamp() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprint(p.version)
}

func (p *sharedPlace) Read() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return nil, errors.New("away")
	}
	return p.data, nil
}

func (p *sharedPlace) Replace(was, data []byte) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return false, errors.New("away")
	}
	if !bytes.Equal(was, p.data) {
		return false, nil
	}
	p.data, p.version = data, p.version+1
	return true, nil
}

func openAt(t interface{ Fatal(...any) }, p LearntPlace) *Learnt {
	l, err := OpenLearntAt(p)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What several processes learn at the same moment of the same model is kept, all of it.
func TestLearntAtTheSameMomentIsKept(t *testing.T) {
	const processes, pairs = 6, 10
	place := &sharedPlace{}
	var all sync.WaitGroup
	for i := range processes {
		l := openAt(t, place)
		all.Go(func() {
			for k := range pairs {
				l.Calibration.Observe("t\tm", 1000+100*i+k, 2*(1000+100*i+k))
				l.Limits.Learn(Asked{Tenant: "t", Conversation: fmt.Sprint(i), Model: fmt.Sprint("m", k), Window: 9000},
					5000, false, time.Unix(1000, 0))
				if err := l.Save(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	l := openAt(t, place)
	seen := map[pair]bool{}
	for _, p := range l.Calibration.models["t\tm"].pairs {
		seen[p] = true
	}
	if len(seen) != processes*pairs {
		t.Errorf("%d of %d pairs are kept", len(seen), processes*pairs)
	}
	for k := range pairs { // two conversations have confirmed each limit
		a := Asked{Tenant: "t", Conversation: "new", Model: fmt.Sprint("m", k), Window: 9000}
		if got := l.Limits.Within(a, 8000, 0, time.Unix(1000, 0)); got != 5000 {
			t.Errorf("%s is limited to %d", a.Model, got)
		}
	}
}

// Processes that hold what they observe have the same scale whenever they have read the
// place, and the one that a single process has if everything is kept.
func TestHeldCalibrationsAreEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := &sharedPlace{}
		var many []*Learnt
		for range 3 {
			l := openAt(t, place)
			l.Hold()
			many = append(many, l)
		}
		var one Calibration
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			l := rapid.SampledFrom(many).Draw(t, "process")
			x := rapid.IntRange(500, 100_000).Draw(t, "local")
			y := x * rapid.IntRange(90, 300).Draw(t, "percent") / 100
			one.Observe("m", x, y)
			before := l.Calibration.Scale("m")
			l.Calibration.Observe("m", x, y)
			if got := l.Calibration.Scale("m"); got != before {
				t.Fatalf("%+v counts before it is kept, instead of %+v", got, before)
			}
			next := l.Calibration.Next("m")
			if err := l.Save(); err != nil {
				t.Fatal(err)
			}
			for _, o := range many {
				if err := o.Reread(); err != nil {
					t.Fatal(err)
				}
				if got, want := o.Calibration.Scale("m"), one.Scale("m"); got != want || got != next {
					t.Fatalf("%+v, and %+v in one process; %+v was announced", got, want, next)
				}
			}
		}
	})
}

// What cannot be kept is kept later, after what others kept meanwhile.
func TestLearntWaitsForItsPlace(t *testing.T) {
	place := &sharedPlace{}
	a, b := openAt(t, place), openAt(t, place)
	asked := Asked{Tenant: "t", Conversation: "c", Model: "m", Window: 9000}
	a.Calibration.Observe("t\tm", 1000, 2000)
	a.Limits.Learn(asked, 5000, false, time.Now())
	place.away = true
	if a.Save() == nil || a.Reread() == nil {
		t.Error("a place that is away is no error")
	}
	late, err := OpenLearntAt(place)
	if err == nil || strings.Contains(err.Error(), "damaged") {
		t.Errorf("opened where the place is away: %v", err)
	}
	place.away = false
	b.Calibration.Observe("t\tm", 1001, 2002)
	if err := errors.Join(b.Save(), a.Save(), b.Refresh(), late.Refresh()); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Learnt{a, b, late} {
		if n := l.Calibration.Scale("t\tm").N; n != 2 {
			t.Errorf("%d pairs", n)
		}
		if got := l.Limits.Within(asked, 8000, 0, time.Now()); got != 5000 {
			t.Errorf("limited to %d", got)
		}
	}
}

// A busy model takes no room from what others are taught before it is kept.
func TestABusyModelLeavesRoomForOthers(t *testing.T) {
	l := openAt(t, &sharedPlace{})
	l.Hold()
	l.Calibration.Observe("quiet", 1000, 2000)
	for i := range 2 * maxJournal {
		l.Calibration.Observe("busy", 1000+i, 2*(1000+i))
	}
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	if n := l.Calibration.Scale("quiet").N; n != 1 {
		t.Errorf("%d pairs of the quiet model", n)
	}
	if n := l.Calibration.Scale("busy").N; n != calibratePairs {
		t.Errorf("%d pairs of the busy model", n)
	}
}

// What a call does does not grow with what waits to be kept.
func TestNextDoesTheSameHoweverMuchWaits(t *testing.T) {
	allocations := func(waiting int) float64 {
		l := openAt(t, &sharedPlace{})
		l.Hold()
		observe := func(i int) {
			x := 1000 + 7919*i%50_000
			l.Calibration.Observe("m", x, 2*x)
		}
		for i := range waiting {
			observe(i)
		}
		return testing.AllocsPerRun(10, func() {
			observe(waiting)
			l.Calibration.Next("m")
		})
	}
	if few, many := allocations(calibratePairs), allocations(maxJournal-20); many > 2*few || few > 200 {
		t.Errorf("%v allocations with few observations, %v with many", few, many)
	}
}

// The journal stays bounded if much is learnt while it cannot be kept.
func TestTheJournalIsBounded(t *testing.T) {
	l := openAt(t, &sharedPlace{})
	for range 5 {
		limits, pairs := l.Limits.takeChanges(), l.Calibration.takeAdded() // as Save does
		for i := range maxJournal {
			l.Calibration.Observe(fmt.Sprint("m", i), 1000, 2000)
			l.Limits.LearnBinding(Asked{Model: fmt.Sprint("m", i)})
		}
		l.Limits.returnChanges(limits)
		l.Calibration.returnAdded(pairs)
	}
	if a, b := len(l.Limits.changes), len(l.Calibration.added); a > maxJournal || b > maxJournal {
		t.Errorf("%d changes, %d observations", a, b)
	}
}

// oriel models --forget has no place if the database has no history yet.
func TestForgetWithoutAPlace(t *testing.T) {
	l := &Learnt{Limits: new(Limits), Calibration: new(Calibration)}
	if n, err := l.Forget("all"); n != 0 || err != nil {
		t.Error(n, err)
	}
}
