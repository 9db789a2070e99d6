package window

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/items"
)

// SPEC B1: the margin is a setting.
func TestTheMarginIsASetting(t *testing.T) {
	for _, c := range []struct {
		margin float64
		want   int
	}{{0, 200_000 - 20_000 - 8192}, {0.10, 200_000 - 20_000 - 8192}, {0.25, 200_000 - 50_000 - 8192},
		{NoMargin, 200_000 - 8192}} {
		b, err := newBudget(200_000, 0, 0, c.margin)
		if err != nil || b.Allowed != c.want {
			t.Errorf("%g: %d, not %d: %v", c.margin, b.Allowed, c.want, err)
		}
	}
	for _, bad := range []float64{1, 1.5, -0.1, -2, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := newBudget(200_000, 0, 0, bad); err == nil || !strings.Contains(err.Error(), "a margin of") {
			t.Errorf("%g: %v", bad, err)
		}
		if _, _, err := Fit(context.Background(), example(t), Options{Margin: bad}); err == nil {
			t.Errorf("Fit with a margin of %g", bad)
		}
	}
	// What Fit keeps follows it.
	_, plan, err := Fit(context.Background(), example(t), Options{Window: 12_000, Reserve: 1000, Margin: 0.5})
	if err != nil || plan.Budget != 5000 || plan.TokensAfter > 5000 {
		t.Errorf("%+v, %v", plan, err)
	}
}

// SPEC B4: profiles of one's own are known by name.
func TestOwnProfiles(t *testing.T) {
	table, err := NewProfiles(Profile{Name: "code-mode", Budget: 4000, Low: 0.6, Policy: "mask", Threshold: 60},
		Profile{Name: "plain"})
	if err != nil {
		t.Fatal(err)
	}
	_, plan, err := Fit(context.Background(), example(t), Options{Profile: "code-mode", Profiles: table})
	if err != nil || plan.Policy != "mask" || plan.Budget != 4000 || plan.TokensAfter > 4000 || plan.Low != 2400 {
		t.Errorf("%+v, %v", plan, err)
	}
	if got := strings.Join(table.Names(), " "); got != "code-mode plain full balanced thrifty chat off observe" {
		t.Error(got)
	}
	if p, err := table.Lookup(""); err != nil || p.Name != "full" {
		t.Error(p, err)
	}
	for name, want := range map[string]string{"code-mod": "did you mean code-mode? There are code-mode, plain, full",
		"blanced": "did you mean balanced?", "nonsense": "use one of code-mode, plain, full"} {
		if _, err := table.Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := table.Lookup("code-mode")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		t    Thresholds
		want float64
	}{{Thresholds{}, 60}, {Thresholds{Global: 80}, 60}, {Thresholds{Profiles: map[string]float64{"code-mode": 70}}, 70},
		{Thresholds{Profiles: map[string]float64{"code-mode": -1}}, 60}} {
		if got, warning := c.t.For(p); got != c.want || warning != "" {
			t.Errorf("%+v: %g %s", c.t, got, warning)
		}
	}
}

// SPEC B4: a profile that only thresholds name is like full.
func TestThresholdsNameProfiles(t *testing.T) {
	o := Options{Profile: "code-mode", Thresholds: Thresholds{Profiles: map[string]float64{"code-mode": 60}}}
	if _, _, err := Fit(context.Background(), example(t), o); err != nil {
		t.Error(err)
	}
	o.Profile = "other"
	if _, _, err := Fit(context.Background(), example(t), o); err == nil {
		t.Error("a profile that nobody names")
	}
}

func TestProfilesThatCannotBeAreRefused(t *testing.T) {
	for want, p := range map[string]Profile{
		"the name is not valid":      {Name: "two words"},
		"name is not valid: use":     {Name: "a/b"},
		"not valid: use at most 40":  {Name: strings.Repeat("x", 41)},
		"there is a built-in":        {Name: "balanced"},
		"a budget of -1":             {Name: "x", Budget: -1},
		"a low mark of 1:":           {Name: "x", Low: 1},
		"a low mark of NaN":          {Name: "x", Low: math.NaN()},
		"a low mark of +Inf":         {Name: "x", Low: math.Inf(1)},
		`unknown policy "lader": us`: {Name: "x", Policy: "lader"},
	} {
		if _, err := NewProfiles(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if _, err := NewProfiles(Profile{Name: "x"}, Profile{Name: "x"}); err == nil {
		t.Error("a name twice")
	}
}

// NaN and infinities are no thresholds, fractions or weights.
func TestOnlyNumbersAreSettings(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, th := range map[string]Thresholds{
			"global": {Global: bad}, "own": {Profiles: map[string]float64{"full": bad}}, "min": {Global: 2, Min: bad},
			"max": {Global: 200, Max: bad},
		} {
			if got, warning := th.For(Profile{Name: "full"}); got != 100 || warning == "" {
				t.Errorf("%s %g: %g %q", name, bad, got, warning)
			}
		}
		if got, warning := (Thresholds{}).For(Profile{Name: "x", Threshold: bad}); got != 100 || warning == "" {
			t.Errorf("a profile's threshold of %g: %g %q", bad, got, warning)
		}
		for name, w := range map[string]items.Weights{"recency": {Recency: bad}, "cosine": {Cosine: bad},
			`the flag "code"`:   {Flags: map[items.Flag]float64{items.FlagCode: bad}},
			`the source "user"`: {Sources: map[items.Source]float64{items.SourceUser: bad}}} {
			if err := w.Check(); err == nil || !strings.Contains(err.Error(), "the weight of "+name) {
				t.Errorf("%s %g: %v", name, bad, err)
			}
			if _, _, err := Fit(context.Background(), example(t), Options{Weights: w}); err == nil {
				t.Errorf("Fit with a weight of %g", bad)
			}
		}
		if _, _, err := Fit(context.Background(), example(t), Options{Fraction: bad}); err == nil {
			t.Errorf("a fraction of %g", bad)
		}
	}
}
