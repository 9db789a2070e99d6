package token

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestBuiltinEntriesAreWhole(t *testing.T) {
	all := Builtin().All()
	if len(all) < 80 {
		t.Errorf("%d models, want at least 80", len(all))
	}
	for _, m := range all {
		if !m.Known || m.Source == "" || len(m.Date) != len("2006-01-02") || m.Confidence == "" {
			t.Errorf("%s: known %v, source %q, date %q, confidence %q", m.ID, m.Known, m.Source, m.Date, m.Confidence)
		}
		if got := Builtin().Lookup(m.ID); got.ID != m.ID {
			t.Errorf("Lookup(%q) = %q", m.ID, got.ID)
		}
		for _, a := range m.Aliases {
			if got := Builtin().Lookup(a); got.ID != m.ID {
				t.Errorf("Lookup(%q) = %q, want %q", a, got.ID, m.ID)
			}
		}
		if m.Provider == "anthropic" && (m.Cache.Mode != "explicit" || m.Prices.CacheWrite1h == 0) {
			t.Errorf("%s: cache %+v, prices %+v", m.ID, m.Cache, m.Prices)
		}
	}
}

func TestLookupTakesEverySpelling(t *testing.T) {
	for name, want := range map[string]string{
		"gpt-4o-mini":                       "gpt-4o-mini",
		"gpt-4o-mini-2024-07-18":            "gpt-4o-mini",
		"gpt-4o-2024-08-06":                 "gpt-4o",
		"gpt-4o-2024-05-13":                 "gpt-4o-2024-05-13",
		"openai/gpt-4o":                     "gpt-4o",
		"ft:gpt-4o-2024-08-06:acme::abc123": "gpt-4o",
		"gpt-4-0613":                        "gpt-4",
		"gpt-4-1106-preview":                "gpt-4-turbo",
		"gpt-4-turbo-2024-04-09":            "gpt-4-turbo",
		"gpt-4-32k":                         "gpt-4-32k",
		"gpt-35-turbo":                      "gpt-3.5-turbo",
		"gpt-3.5-turbo-0125":                "gpt-3.5-turbo",
		"o1-mini":                           "o1-mini",
		"o1-mini-2024-09-12":                "o1-mini",
		"o1-2024-12-17":                     "o1",
		"o3-mini":                           "o3-mini",
		"gpt-5-2025-08-07":                  "gpt-5",
		"gpt-5-codex":                       "gpt-5",
		"gpt-5-chat-latest":                 "gpt-5-chat",
		"gpt-5.1-codex-mini":                "gpt-5.1-codex-mini",
		"gpt-5.6":                           "gpt-5.6-sol",
		"gpt-6.1-sol-2026-09-29":            "gpt-6.1-sol",
		"GPT-4O":                            "gpt-4o",
		"claude-sonnet-4-5-20250929":        "claude-sonnet-4-5",
		"claude-sonnet-4.5":                 "claude-sonnet-4-5",
		"anthropic/claude-sonnet-4.5":       "claude-sonnet-4-5",
		"openrouter/anthropic/claude-3.7-sonnet:thinking":                       "claude-3-7-sonnet",
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0":                          "claude-sonnet-4-5",
		"anthropic.claude-3-haiku-20240307-v1:0":                                "claude-3-haiku",
		"arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-7": "claude-opus-4-7",
		"claude-opus-4-5@20251101":                                              "claude-opus-4-5",
		"claude-sonnet-4-20250514":                                              "claude-sonnet-4",
		"claude-sonnet-4-0":                                                     "claude-sonnet-4",
		"claude-3-5-sonnet-latest":                                              "claude-3-5-sonnet",
		"claude-opus-5-5":                                                       "claude-opus-5-5",
		"claude-opus-5":                                                         "claude-opus-5",
		"models/gemini-2.5-pro":                                                 "gemini-2.5-pro",
		"gemini-2.0-flash-001":                                                  "gemini-2.0-flash",
		"gemini-2.5-flash-lite":                                                 "gemini-2.5-flash-lite",
		"gemini-3-pro-preview":                                                  "gemini-3-pro",
		"mistral-large-2512":                                                    "mistral-large",
		"deepseek-chat":                                                         "deepseek-chat",
		"Qwen/Qwen3-Coder-480B-A35B-Instruct":                                   "qwen3-coder",
		"qwen3-coder-plus":                                                      "qwen3-coder-plus",
		"meta-llama/Llama-3.1-70B-Instruct":                                     "llama-3.1",
		"llama3.1:70b":                                                          "llama-3.1",
		"llama3:8b":                                                             "llama-3",
		"gpt-oss:20b":                                                           "gpt-oss",
		"openai/gpt-oss-120b":                                                   "gpt-oss",
	} {
		m := Builtin().Lookup(name)
		if m.ID != want || !m.Known {
			t.Errorf("Lookup(%q) = %q, known %v; want %q", name, m.ID, m.Known, want)
		}
	}
}

func TestLookupNeverTakesOneModelForAnother(t *testing.T) {
	for _, name := range []string{
		"gpt-4o-something", "gpt-7", "claude-sonnet-4-9", "claude-opus-6", "o1-ultra", "my-model", "", "gemini-9-pro",
		"-", "gpt", "default",
	} {
		m := Builtin().Lookup(name)
		if m.Known {
			t.Errorf("Lookup(%q) = %q, known", name, m.ID)
		}
		if name != "" && m.ID != name {
			t.Errorf("Lookup(%q).ID = %q, want the name", name, m.ID)
		}
		if m.Window < 100_000 || m.Multiplier < 1 || m.Encoding == "" {
			t.Errorf("Lookup(%q): careless figures %+v", name, m)
		}
	}
	if m := Builtin().Lookup("claude-opus-6"); m.Window != 200_000 || m.Multiplier != 1.66 {
		t.Errorf("unknown Claude: window %d, multiplier %v", m.Window, m.Multiplier)
	}
}

// A family answers for sizes and variants of its version, not for the next
// version, however that is spelt.
func TestAFamilyIsOneVersion(t *testing.T) {
	for name, want := range map[string]string{
		"llama-3.1-70b-instruct":     "llama-3.1",
		"llama-3-8b-instruct":        "llama-3",
		"meta-llama-3.1-8b":          "llama-3.1",
		"llama-v3p1-405b-instruct":   "llama-3.1",
		"llama3-70b-8192":            "llama-3",
		"llama-4-scout-17b-16e":      "llama-4",
		"qwen3-32b":                  "qwen3",
		"qwen3-1.7b":                 "qwen3",
		"qwen3-0.6b":                 "qwen3",
		"qwen3-235b-a22b-2507":       "qwen3",
		"qwen3-next-80b-a3b":         "qwen3",
		"qwen3:4b":                   "qwen3",
		"qwen2.5-coder-32b-instruct": "qwen2.5",
		"qwen2.5-1.5b-instruct":      "qwen2.5",
		"qwen-2.5-72b-instruct":      "qwen2.5",
		"devstral-2512":              "devstral",
		"gpt-oss-20b":                "gpt-oss",
	} {
		if m := Builtin().Lookup(name); m.ID != want || !m.Known {
			t.Errorf("%s is %s, known %v; want %s", name, m.ID, m.Known, want)
		}
	}
	for _, name := range []string{
		"qwen3.5-72b", "qwen3.9-max", "qwen3-5-72b", "qwen3_5", "qwen3.5", "Qwen/Qwen3.9-397B-A17B", "qwen2.5.1-7b",
		"llama-3.9-70b-instruct", "llama-3-9-70b", "llama3.9:70b", "llama-4.5-maverick", "llama-4-5", "llama-3.10-8b",
		"llama-3.1.5-8b", "gpt-5.123", "gpt-4o.1", "qwen3-coder.5", "qwen3-5.1-72b",
	} {
		if m := Builtin().Lookup(name); m.Known || m.ID != name || m.Window < 100_000 {
			t.Errorf("%s is %s, known %v, window %d", name, m.ID, m.Known, m.Window)
		}
	}
}

func TestFiguresOfModelsThatLookAlike(t *testing.T) {
	for name, want := range map[string]struct {
		window        int
		input, output float64
	}{
		"gpt-4o":                      {128_000, 2.5, 10},
		"chatgpt-4o-latest":           {128_000, 5, 15},
		"gpt-3.5-turbo":               {16_385, 0.5, 1.5},
		"gpt-3.5-turbo-16k":           {16_385, 3, 4},
		"gpt-3.5-turbo-16k-0613":      {16_385, 3, 4},
		"gpt-35-turbo-16k":            {16_385, 3, 4},
		"gpt-3.5-turbo-instruct":      {4_096, 1.5, 2},
		"gpt-3.5-turbo-instruct-0914": {4_096, 1.5, 2},
	} {
		m := Builtin().Lookup(name)
		if !m.Known || m.Window != want.window || m.Prices.Input != want.input || m.Prices.Output != want.output {
			t.Errorf("%s: known %v, window %d, prices %v/%v; want %+v", name, m.Known, m.Window, m.Prices.Input,
				m.Prices.Output, want)
		}
	}
}

// An entry of which anything was assumed, or taken from others than its vendor,
// is not published.
func TestPublishedMeansAllOfIt(t *testing.T) {
	for _, m := range Builtin().All() {
		if m.Confidence != "published" {
			continue
		}
		for _, word := range []string{"assumed", "reported", "models.dev", "copies", "via"} {
			if strings.Contains(m.Source, word) {
				t.Errorf("%s is published, but its source says %q", m.ID, m.Source)
			}
		}
		// Its limits come from measurements.
		if m.Image == "claude-high" {
			t.Errorf("%s is published, but not its image rule", m.ID)
		}
	}
}

func TestLookupsDoNotShareSlices(t *testing.T) {
	a := Builtin().Lookup("claude-sonnet-4-5")
	a.Widen[0].Window, a.Prices.Tiers[0].Input, a.Cache.TTL[0] = 1, 1, 1
	b := Builtin().Lookup("claude-sonnet-4-5")
	if b.Widen[0].Window != 1_000_000 || b.Prices.Tiers[0].Input != 6 || b.Cache.TTL[0] != 300 {
		t.Error("a caller's change is seen by others")
	}
}

// SPEC B1; all the limits of a model hold at once.
func TestInputLimit(t *testing.T) {
	const beta = "context-1m-2025-08-07"
	for _, c := range []struct {
		model    string
		reserved int
		betas    []string
		want     int
	}{
		{"gpt-4o", 0, nil, 128_000},
		{"gpt-4o", 8_192, nil, 119_808},
		{"gpt-5", 64_000, nil, 272_000},            // 400k in all, 272k of input
		{"gpt-5.5", 128_000, nil, 922_000},         // not enforced, but input is bounded
		{"claude-sonnet-4", 64_000, nil, 136_000},  // refused above
		{"claude-haiku-4-5", 64_000, nil, 200_000}, // stops with a reason instead
		{"claude-sonnet-4-5", 64_000, []string{beta}, 1_000_000},
		{"claude-sonnet-4", 64_000, []string{"interleaved-thinking-2025-05-14, " + beta}, 936_000},
		{"claude-opus-4-5", 0, []string{beta}, 200_000}, // has no such header
		{"claude-sonnet-4-5[1m]", 0, nil, 1_000_000},
		{"gpt-4", 10_000, nil, 0},
		{"gpt-4", -5, nil, 8_192},
		{"gemini-2.5-pro", 65_536, nil, 1_048_576},
	} {
		if got := Builtin().Lookup(c.model).InputLimit(c.reserved, c.betas...); got != c.want {
			t.Errorf("%s, %d reserved, %q: %d, want %d", c.model, c.reserved, c.betas, got, c.want)
		}
	}
}

// SPEC B5
func TestCost(t *testing.T) {
	for _, c := range []struct {
		model string
		u     Usage
		want  float64
	}{
		// 1000·3 + 90000·0.3 + 2000·3.75 + 1000·6 + 500·15 = 3000+27000+7500+6000+7500 = 51000 millionths
		{"claude-sonnet-4-5", Usage{Input: 1000, CacheRead: 90_000, CacheWrite: 2000, CacheWrite1h: 1000, Output: 500}, 0.051},
		// More than 200k of prompt: 10000·6 + 200000·0.6 + 1000·22.5 = 60000+120000+22500
		{"claude-sonnet-4-5", Usage{Input: 10_000, CacheRead: 200_000, Output: 1000}, 0.2025},
		// Exactly 200k is still short: 200000·3
		{"claude-sonnet-4-5", Usage{Input: 200_000}, 0.6},
		{"gpt-4o", Usage{Input: 1_000_000, CacheRead: 1_000_000, Output: 1_000_000}, 2.5 + 1.25 + 10},
		// No price for the cache: the input's holds.
		{"gpt-4", Usage{Input: 1000, CacheRead: 1000, CacheWrite: 1000, CacheWrite1h: 1000}, 0.12},
		// Twelve hours cost twice what half an hour does.
		{"gpt-6.1-terra", Usage{CacheWrite: 100_000}, 0.125},
		{"gpt-6.1-terra", Usage{CacheWrite1h: 100_000}, 0.25},
		// Service tiers: half, double, and one that costs as much as the standard one.
		{"gpt-6.1-terra", Usage{Input: 100_000, Output: 1000, Service: "flex"}, 0.0525},
		{"gpt-6.1-terra", Usage{Input: 100_000, Output: 1000, Service: "priority"}, 0.21},
		{"gpt-6.1-terra", Usage{Input: 100_000, Output: 1000, Service: "fast"}, 0.21},
		{"gpt-6.1-terra", Usage{Input: 100_000, Output: 1000, Service: "scale"}, 0.105},
		{"claude-opus-5-5", Usage{Input: 100_000, Service: "fast"}, 0.8},
		// Third of four tiers: 130000·3
		{"qwen3-coder-plus", Usage{Input: 130_000}, 0.39},
		{"llama-3.1", Usage{Input: 1000, Output: 1000}, 0},
		{"gpt-4o", Usage{}, 0},
	} {
		m := Builtin().Lookup(c.model)
		if got := m.Prices.Cost(c.u); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s %+v: %v, want %v", c.model, c.u, got, c.want)
		}
	}
	if Builtin().Lookup("llama-3.1").Prices.Known() || !Builtin().Lookup("gpt-4o").Prices.Known() {
		t.Error("Prices.Known")
	}
}

func TestLoadModelsLaysFieldOverField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.json")
	err := os.WriteFile(path, []byte(`{
		"structures": {"claude": {"call": 99}},
		"models": [
			{"id": "gpt-4o", "window": 64000, "prices": {"input": 1}, "aliases": ["corp-4o"]},
			{"id": "house-claude", "like": "claude-sonnet-4-5", "window": 150000, "widen": []},
			{"id": "tiny", "window": 4096, "multiplier": 1.1}
		]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	ms, err := LoadModels(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Builtin().Lookup("gpt-4o")
	want.Window, want.Prices.Input, want.Aliases, want.Figures = 64_000, 1, []string{"corp-4o"}, "your own"
	got := ms.Lookup("corp-4o")
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Model{})); d != "" {
		t.Error(d)
	}
	house := ms.Lookup("house-claude-20260101")
	if house.ID != "house-claude" || !house.Known || house.Window != 150_000 || len(house.Widen) != 0 ||
		house.Prices.Output != 15 {
		t.Errorf("%+v", house)
	}
	if house.structure.Call != 99 || house.structure.Tools != 366 {
		t.Errorf("structure %+v", house.structure)
	}
	if tiny := ms.Lookup("tiny"); !tiny.Known || tiny.Window != 4096 || tiny.Encoding != "o200k_base" ||
		tiny.Multiplier != 1.1 {
		t.Errorf("%+v", tiny)
	}
	if m := Builtin().Lookup("gpt-4o"); m.Window != 128_000 || m.structure.Call == 99 {
		t.Error("the built-in table has changed")
	}
}

func TestLoadModelsNamesModelAndField(t *testing.T) {
	for _, c := range []struct{ in, model, field, says string }{
		{`{"models":[{"id":"gpt-4o","windw":1}]}`, "gpt-4o", "windw", "no such field"},
		{`{"models":[{"id":"gpt-4o","window":"big"}]}`, "gpt-4o", "window", "number"},
		{`{"models":[{"id":"gpt-4o","prices":{"input":"x"}}]}`, "gpt-4o", "prices.input", "number"},
		{`{"models":[{"id":"gpt-4o","window":0}]}`, "gpt-4o", "window", "above 0"},
		{`{"models":[{"id":"gpt-4o","max_output":-1}]}`, "gpt-4o", "max_output", "negative"},
		{`{"models":[{"id":"gpt-4o","max_input":128001}]}`, "gpt-4o", "max_input", "more than the window"},
		{`{"models":[{"id":"x","encoding":"morse"}]}`, "x", "encoding", "morse"},
		{`{"models":[{"id":"x","multiplier":0}]}`, "x", "multiplier", "0.1"},
		{`{"models":[{"id":"gpt-4o","multiplier":1.2}]}`, "gpt-4o", "multiplier", "exact"},
		{`{"models":[{"id":"x","like":"nothing"}]}`, "x", "like", "nothing"},
		{`{"models":[{"id":"x","structure":"odd"}]}`, "x", "structure", "odd"},
		{`{"models":[{"id":"x","image":"odd"}]}`, "x", "image", "odd"},
		{`{"models":[{"id":"x","aliases":["gpt-4o"]}]}`, "x", "aliases", "gpt-4o"},
		{`{"models":[{"id":"x","prices":{"input":-1}}]}`, "x", "prices.input", "negative"},
		{`{"models":[{"id":"x","prices":{"tiers":[{"over":9,"output":-1}]}}]}`, "x", "prices.tiers[0].output",
			"negative"},
		{`{"models":[{"id":"x","cache":{"ttl":[300,-1]}}]}`, "x", "cache.ttl[1]", "negative"},
		{`{"models":[{"id":"x","window":-5}]}`, "x", "window", "must not be negative, is -5"},
		{`{"models":[{"id":"x","multiplier":-1}]}`, "x", "multiplier", "negative"},
		{`{"models":[{"id":"x","widen":[{"beta":"b","window":-1}]}]}`, "x", "widen[0].window", "negative"},
		{`{"images":{"claude":{"patch":-1}}}`, "", "images.claude.patch", "must not be negative, is -1"},
		{`{"images":{"mine":{"multiplier":-0.5}}}`, "", "images.mine.multiplier", "negative"},
		{`{"structures":{"claude":{"call":-1}}}`, "", "structures.claude.call", "negative"},
		{`{"structures":{"openai":{"enum":-4}}}`, "", "structures.openai.enum", "negative"},
		{`{"models":[{"id":"x","prices":{"tiers":[{"over":9},{"over":9}]}}]}`, "x", "prices.tiers", "rise"},
		{`{"models":[{"id":"claude-sonnet-4-5","widen":[{"beta":"b"}]}]}`, "claude-sonnet-4-5", "widen", "window"},
		{`{"models":[{"id":"x","confidence":"sure"}]}`, "x", "confidence", "sure"},
		{`{"models":[{"window":5}]}`, "#1", "id", "non-empty"},
		{`{"modles":[]}`, "", "modles", "no such field"},
		{`{"images":{"none":{"knd":1}}}`, "", "images.none.knd", "no such field"},
		{`{`, "", "", "ends too early"},
		{``, "", "", "is empty: write"},
		{" \n", "", "", "is empty: write"},
		{`{"models":[}`, "", "", "not JSON at byte 12"},
		{`[]`, "", "", "must be an object, is an array"},
		{`{"models":{}}`, "", "models", "must be an array, is an object"},
		{`{"models":[{"id":"x","aliases":"y"}]}`, "x", "aliases", "must be an array, is a string"},
		{`{"models":[{"id":"x","window":1e99}]}`, "x", "window", "must be a whole number, is 1e99"},
		{`{"models":[{"id":"x","window":1.5}]}`, "x", "window", "must be a whole number, is 1.5"},
		{`{"models":[{"id":"x","window":99999999999999999999}]}`, "x", "window", "is too large: 99999999999999999999"},
		{`{"models":[{"id":"x","prices":{"input":1e999}}]}`, "x", "prices.input", "is too large: 1e999"},
		{`{"models":[{"id":"x","exact":[]}]}`, "x", "exact", "must be true or false, is an array"},
		{`{} {}`, "", "", "more than one"},
	} {
		path := filepath.Join(t.TempDir(), "m.json")
		if err := os.WriteFile(path, []byte(c.in), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadModels(path)
		var me *ModelError
		if !errors.As(err, &me) {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if me.Model != c.model || me.Field != c.field || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: model %q, field %q: %v", c.in, me.Model, me.Field, err)
		}
	}
	if _, err := LoadModels(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// All has every entry that is no stand-in, also those behind one.
func TestAllListsEveryModelThatIsKnown(t *testing.T) {
	ms := &Models{entries: []Model{{ID: "a"}, {ID: "guess", Guess: true}, {ID: "b"}}}
	if all := ms.All(); len(all) != 2 || all[0].ID != "a" || all[1].ID != "b" {
		t.Errorf("%+v", all)
	}
}
