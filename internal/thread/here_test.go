package thread

import "testing"

// Where the messages of a history are on the path of a request whose client has left out the
// beginning, and changed the rest: what is left out stays where it was.
func TestHereBehindWhatIsLeftOut(t *testing.T) {
	s := newPlay(t)
	for _, line := range []string{
		"call A : u1 snote", "reply A along1",
		"call B : u1 along1 u2 snote", "reply B along2",
		"call C : u1 along1 u2 along2 u3 snote", "reply C along3",
		"call D : u1 along1 u2 along2 u3 along3 u4 snote", "reply D along4",
		"call E : u0 u2_ along2_ u3 along3 u4 along4 u5 snote",
	} {
		s.do(line)
	}
	th := s.calls["E"].Thread
	if th.Kind != Trimmed || th.From != 1 || len(th.Before) != 2 {
		t.Fatalf("%s, from %d behind %d", th.Kind, th.From, len(th.Before))
	}
	for depth, want := range map[int]int{1: 1, 2: 2, 3: 3, 7: 7, 8: 0, 9: 8} { // 8 was the note
		if got, ok := th.Here(depth); got != want || ok != (want > 0) {
			t.Errorf("message %d is here at %d, %v; want %d", depth, got, ok, want)
		}
	}
}
