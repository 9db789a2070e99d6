package timeline_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

func formsOf(forms ...int) (f timeline.Forms) {
	for _, n := range forms {
		f.Add(n)
	}
	return f
}

func TestFormsAsText(t *testing.T) {
	for _, c := range []struct {
		forms []int
		want  string
	}{
		{nil, ""},
		{[]int{0}, "0x1"},
		{[]int{1, 1, 1, 0, 0}, "1x3,0x2"},
		{[]int{0, 1, 0, 1, 0, 2, 2, 2}, "0/1x5,2x3"},
	} {
		if got := formsOf(c.forms...).String(); got != c.want {
			t.Errorf("%v is %q, want %q", c.forms, got, c.want)
		}
	}
	for _, bad := range []string{"x", "1", "1x", "x1", "1x0", "-1x1", "1x1,", "1/x2", "1x1x1", "99999999999999x1",
		" 1x1"} {
		if f, err := timeline.ParseForms(bad); err == nil {
			t.Errorf("%q is read as %v", bad, f)
		}
	}
}

func TestFormsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.IntRange(0, 3)).Draw(t, "forms")
		f, err := timeline.ParseForms(formsOf(want...).String())
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(f.All()); !slices.Equal(got, want) || f.Len() != len(want) {
			t.Fatalf("%v as %v is %v, length %d", want, f, got, f.Len())
		}
	})
}

// Long histories whose messages have one form, or two in turn, stay short.
func TestFormsOfLongHistoriesAreShort(t *testing.T) {
	var f timeline.Forms
	for i := range 100_000 {
		f.Add(i % 2)
	}
	for range 100_000 {
		f.Add(1)
	}
	if len(f.String()) > 40 {
		t.Errorf("%q", f.String())
	}
}

func FuzzParseForms(f *testing.F) {
	f.Add("1x498,0/2x2")
	f.Fuzz(func(t *testing.T, text string) {
		forms, err := timeline.ParseForms(text)
		if err != nil {
			return
		}
		again, err := timeline.ParseForms(forms.String())
		if err != nil || !slices.Equal(forms, again) {
			t.Errorf("%q is %v, then %v: %v", text, forms, again, err)
		}
	})
}

func TestReadFormsRefusesWhatDoesNotBelong(t *testing.T) {
	s := memory.New()
	a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Now: noon, Messages: []timeline.Message{
		{Identity: timeline.Hash{1}, Raw: []byte("1"), Format: "item"},
		{Identity: timeline.Hash{2}, Raw: []byte("2"), Format: "item"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	visit := func(*timeline.Entry) error { return nil }
	for _, f := range []timeline.Forms{nil, formsOf(0), formsOf(0, 0, 0), formsOf(0, 1)} {
		if err := timeline.ReadForms(ctx, s, timeline.Local, a.Head, f, visit); !errors.Is(err, timeline.ErrInvalid) {
			t.Errorf("forms %v: %v", f, err)
		}
	}
	enough := errors.New("enough")
	if err := timeline.ReadForms(ctx, s, timeline.Local, a.Head, formsOf(0, 0),
		func(*timeline.Entry) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("visitor's error: %v", err)
	}
}
