package settings

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/window"
)

func TestMistakesAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"typo":            {"\nprofle = 'chat'", []string{":2: there is no key profle: did you mean profile?"}},
		"swapped letters": {"lisetn = ''", []string{"did you mean listen?"}},
		"case":            {"Listen = 'a:1'", []string{"there is no key Listen: did you mean listen?"}},
		"typo in a section": {"[upstream]\n\nopnai = ''",
			[]string{":3: there is no key upstream.opnai: did you mean upstream.openai?"}},
		"typo of a section": {"[upstrem]\nopenai = ''",
			[]string{":2: there is no key upstrem.openai: did you mean upstream.openai?"}},
		"empty section": {"[upstrem]", []string{":1: there is no key upstrem: did you mean upstream?"}},
		"wrong section": {"[recall]\nplain_cache = true",
			[]string{":2: there is no key recall.plain_cache: did you mean upstream.plain_cache?"}},
		"section forgotten":       {"openai = ''", []string{"there is no key openai: did you mean upstream.openai?"}},
		"typo, section forgotten": {"plain_cach = true", []string{"did you mean upstream.plain_cache?"}},
		"in a section by mistake": {"[upstream]\nprofile = 'chat'",
			[]string{"there is no key upstream.profile: did you mean profile?"}},
		"inline": {"upstream = {opnai = ''}",
			[]string{":1: there is no key upstream.opnai: did you mean upstream.openai?"}},
		"dotted": {"condense.modle = ''", []string{"did you mean condense.model?"}},
		"a quoted dot": {"'upstream.openai' = 'http://a'",
			[]string{`there is no key "upstream.openai": did you mean upstream.openai?`}},
		"flag's name": {"upstream-openai = ''", []string{"did you mean upstream.openai?"}},
		"deep":        {"[upstream.openai.x]\na = 1", []string{"upstream.openai: it must be a text"}},
		"all at once": {"profle = ''\n[upstream]\nopnai = ''\nplain_cache = 1",
			[]string{":1: ", ":3: ", ":4: upstream.plain_cache: it must be true or false"}},
		"model's key": {"[models.m]\nwindw = 1",
			[]string{":2: there is no key models.m.windw: did you mean models.m.window?"}},
		"model's name with dots": {"[models.'gpt-4.1']\noutptu = 1",
			[]string{`there is no key models."gpt-4.1".outptu: did you mean models."gpt-4.1".output?`}},
		"model without a name": {"[models]\nwindow = 1",
			[]string{":2: models.window: this is a section: write [models.window]"}},

		"number for text": {"\nprofile = 1", []string{":2: profile: it must be a text: write it in quotes"}},
		"text for bool": {"[upstream]\nplain_cache = 'yes'",
			[]string{":2: upstream.plain_cache: it must be true or false"}},
		"text for number":    {"low_mark = 'half'", []string{":1: low_mark: it must be a number"}},
		"fraction for whole": {"[recall]\ntokens = 1.5", []string{":2: recall.tokens: it must be a whole number"}},
		"number for time": {"[recall]\nwait = 50",
			[]string{`:2: recall.wait: it must be a time with its unit: write "50ms"`}},
		"no unit": {"[recall]\nwait = '50'", []string{`recall.wait: it must be a time with its unit`}},
		"text for list": {"origins = 'https://a'",
			[]string{`:1: origins: it must be a list of texts: write ["one", "two"]`}},
		"list of numbers":    {"origins = [1]", []string{"origins: it must be a list of texts"}},
		"value for section":  {"upstream = 1", []string{":1: upstream: this is a section: write [upstream]"}},
		"section for value":  {"[listen]", []string{":1: listen: it must be a text"}},
		"tables for section": {"[[upstream]]\nopenai=''", []string{"upstream: this is a section"}},
		"threshold's type":   {"[thresholds]\nall = 'most'", []string{":2: thresholds.all: it must be a number"}},
		"profile": {"profile = 'ful'",
			[]string{`:1: profile: unknown profile "ful": did you mean full? There are full, balanced`}},
		"empty profile": {"profile = ''", []string{":1: profile: unknown profile"}},
		"sync":          {"sync = 'never'", []string{`:1: sync: "never" is unknown: use normal or full`}},
		"address": {"listen = '8780'",
			[]string{`:1: listen: invalid listen address "8780": give HOST:PORT`}},
		"upstream": {"upstream.openai = 'localhost:1'",
			[]string{":1: upstream.openai: the upstream URL for OpenAI is not http(s)://host…: give one such as"}},
		"origin": {"origins = ['https://a/']", []string{`:1: origins: invalid origin "https://a/"`}},
		"low mark": {"low_mark = 1.5",
			[]string{":1: low_mark: 1.5 is not a share of the budget: give a number between 0 and 1"}},
		"margin":          {"margin = 1", []string{":1: margin: 1 is not a share of the window"}},
		"infinite margin": {"margin = inf", []string{":1: margin: +Inf is not a share of the window"}},
		"infinite price":  {"models.m.input = inf", []string{":1: models.m.input: it must be a number"}},
		"profile key": {"[profiles.x]\nbuget = 5",
			[]string{":2: there is no key profiles.x.buget: did you mean profiles.x.budget?"}},
		"profile name": {"[profiles.'a b']\nbudget = 5",
			[]string{":1: profiles.\"a b\": profile \"a b\": the name is not valid"}},
		"built-in profile": {"[profiles.full]\nbudget = 5",
			[]string{":1: profiles.full: profile \"full\": there is a built-in profile"}},
		"profile's policy": {"[profiles.x]\npolicy = 'lifo'",
			[]string{"profiles.x: profile \"x\": unknown policy \"lifo\": use one of"}},
		"profile's mark": {"[profiles.x]\nlow_mark = nan",
			[]string{"profiles.x: profile \"x\": a low mark of NaN"}},
		"profile's threshold": {"[profiles.x]\nthreshold = nan",
			[]string{"profiles.x: profile \"x\": a threshold of NaN: it must be a percent"}},
		"endless threshold": {"[profiles.x]\nthreshold = -inf",
			[]string{"profiles.x: profile \"x\": a threshold of -Inf"}},
		"profile's recall": {"[profiles.x]\nrecall = -7",
			[]string{"profiles.x: profile \"x\": a recall of -7: it must be a number of tokens"}},
		"threshold of nan": {"[thresholds]\nall = nan", []string{":2: thresholds.all: it must be a number"}},
		"threshold of inf": {"[thresholds]\nchat = inf", []string{":2: thresholds.chat: it must be a number"}},
		"near profile": {"profile = 'code-mod'\n[profiles.code-mode]\nbudget = 5",
			[]string{":1: profile: unknown profile \"code-mod\": did you mean code-mode?"}},
		"nan":            {"low_mark = nan", []string{":1: low_mark: NaN is not a share"}},
		"recall":         {"recall.tokens = 0", []string{":1: recall.tokens: 0 is too small: give 1 or more"}},
		"condense's url": {"[condense]\nurl = 'x'\nmodel = 'm'", []string{":2: condense.url: "}},
		"no model": {"[condense]\nurl = 'http://a'",
			[]string{":2: condense.url: no model for summaries: give condense.model"}},
		"no server": {"[condense]\nmodel = 'm'",
			[]string{":2: condense.model: no server for summaries: give condense.url"}},
		"key over http": {"[condense]\nurl = 'http://example.com/v1'\nmodel = 'm'\nkey = 'k'",
			[]string{":4: condense.key: ", "unencrypted", "use an https:// address"}},
		"embed: url": {"[embed]\nurl = 'x'\nmodel = 'm'", []string{":2: embed.url: ", "such as http://"}},
		"embed: no model": {"[embed]\nurl = 'http://a'",
			[]string{":2: embed.url: no model for vectors: give embed.model"}},
		"embed: no server": {"[embed]\nmodel = 'm'",
			[]string{":2: embed.model: no server for vectors: give embed.url"}},
		"embed: key over http": {"[embed]\nurl = 'http://8.8.8.8/v1'\nmodel = 'm'\nkey = 'k'",
			[]string{":4: embed.key: ", "unencrypted", "embed.key"}},
		"inline, no server": {"[condense]\nwhen = 'inline'", []string{":2: condense.when: no server"}},
		"prompt": {"[condense]\nurl = 'http://a'\nmodel = 'm'\nprompt = '/no/such'",
			[]string{":4: condense.prompt: ", "/no/such"}},
		"a prompt's text": {"[condense]\nurl = 'http://a'\nmodel = 'm'\nprompt = 'Summarise in {tokens} tokens.'",
			[]string{":4: condense.prompt: \"Summarise in {tokens} tokens.\" reads like instructions: write them to a file and give its path"}},
		"a path with a space": {"[condense]\nurl = 'http://a'\nmodel = 'm'\nprompt = '/no/such file'",
			[]string{":4: condense.prompt: ", "/no/such file: "}},
		"models' file": {"models_file = '/no/such'", []string{":1: models_file: ", "/no/such"}},
		"bounds": {"thresholds.min = 90\nthresholds.max = 80",
			[]string{":2: thresholds.max: invalid threshold bounds 90…80: give percents from 1 to 100"}},
		"bounds, and a default": {"thresholds.max = 3", []string{":1: thresholds.max: invalid threshold bounds 5…3"}},
		"least bound": {"thresholds.min = -3",
			[]string{":1: thresholds.min: invalid threshold bounds -3…100"}},
		"no TOML":        {"\nlisten = 'a\n", []string{"config.toml:2: "}},
		"twice":          {"sync = 'full'\nsync = 'full'", []string{"config.toml:2: "}},
		"negative price": {"models.x.input = -1", []string{":1: models.x.input: must not be negative"}},
		"like what is not": {"models.x.like = 'nothing-like-it'",
			[]string{`:1: models.x.like: no model "nothing-like-it"`}},
		"a number that large": {"recall.tokens = 99999999999999999999", []string{"config.toml:1: "}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(Sources{File: file(t, tc.text)})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %s", err, want)
				}
			}
		})
	}
}

func TestMistakesOfVariablesAndFlags(t *testing.T) {
	_, err := Load(Sources{Env: env(map[string]string{"ORIEL_UPSTREAM_PLAIN_CACHE": "perhaps"})})
	if err == nil || err.Error() != "$ORIEL_UPSTREAM_PLAIN_CACHE: it must be true or false" {
		t.Error(err)
	}
	_, err = Load(Sources{Env: env(map[string]string{"ORIEL_PROFILE": "chat"}),
		Flags: map[string]string{"profile": "x"}})
	if err == nil || !strings.HasPrefix(err.Error(), `--profile: unknown profile "x"`) {
		t.Error(err)
	}
}

func TestAFileThatIsNamedMustExist(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.toml")
	if _, err := Load(Sources{File: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	l, err := Load(Sources{File: path, Optional: true})
	if err != nil || l.File != "" {
		t.Error(l, err)
	}
	if _, err := Load(Sources{File: t.TempDir(), Optional: true}); err == nil {
		t.Error("a folder is no file")
	}
}

// SPEC B4: what is outside the bounds warns and falls back.
func TestThresholdsWarn(t *testing.T) {
	for text, want := range map[string]struct {
		warning string
		chat    float64
	}{
		"all = 80":                             {"", 80},
		"all = 80\nchat = 60":                  {"", 60},
		"all = 80\nchat = -1":                  {"", 80},
		"all = -1":                             {"", 100},
		"all = 3":                              {":2: thresholds.all: 3% is outside 5…100: 100% is used", 100},
		"all = 0":                              {":2: thresholds.all: 0% is outside", 100},
		"all = 80\nchat = 101":                 {":3: thresholds.chat: 101% is outside 5…100: 80% is used", 80},
		"all = 80\nchat = 1e300":               {":3: thresholds.chat: ", 80},
		"all = 80\nchat = -2":                  {":3: thresholds.chat: ", 80},
		"all = 80\nchat = 40\nmin = 50":        {":3: thresholds.chat: 40% is outside 50…100", 80},
		"all = 80\nchat = 4\nmin = 2.5":        {"", 4},
		"all = 80\nchat = 70\nmax=75\nfull=76": {":2: thresholds.all: 80% is outside 5…75: 75% is used", 70},
	} {
		l, err := Load(Sources{File: file(t, "[thresholds]\n"+text)})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if all := strings.Join(l.Warnings, "\n"); want.warning == "" && all != "" ||
			!strings.Contains(all, want.warning) {
			t.Errorf("%s: %q", text, all)
		}
		if got, _ := l.Thresholds.Percents().For(window.Profile{Name: "chat"}); got != want.chat {
			t.Errorf("%s: %v", text, got)
		}
	}
	l, err := Load(Sources{Env: env(map[string]string{"ORIEL_THRESHOLDS_CHAT": "2"})})
	if err != nil || len(l.Warnings) != 1 ||
		!strings.HasPrefix(l.Warnings[0], "$ORIEL_THRESHOLDS_CHAT: 2% is outside") ||
		l.SourceOf("thresholds.chat").Kind != "default" {
		t.Error(l, err)
	}
}

// Load never panics, and what it takes can be used.
func FuzzLoad(f *testing.F) {
	f.Add(Example())
	f.Add(commentedOut.ReplaceAllString(Example(), "$1"))
	for _, s := range []string{"a.b.c = 1", "[upstream]\nopenai = 1", "[[models]]", "models.x.window = 1", "'' = 1",
		"['']\n'' = 2", "[thresholds]\nall = nan", "upstream.openai.x = {y = []}", "token = \"", "thresholds.max = 3",
		"\x00", "[models.\"\"]\nwindow = 5", "[condense]\nwait = '-1s'", "[profiles.x]\nbudget = 5",
		"profile = 'y'\n[profiles.y]", "profiles.'a b'.low_mark = nan", "margin = inf"} {
		f.Add(s)
	}
	path := filepath.Join(f.TempDir(), "config.toml")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "prompt") || strings.Contains(text, "models_file") {
			return // these name files of this machine
		}
		l := &Loaded{Settings: Default(), from: map[string]Source{}}
		err := l.readTOML(path, text)
		if err == nil {
			err = l.check()
		}
		if err == nil {
			err = l.readOthers()
		}
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		if _, err := l.ProfileTable.Lookup(l.Profile); err != nil {
			t.Error(err)
		}
		for _, name := range window.Profiles() {
			if p, warning := l.Thresholds.Percents().For(window.Profile{Name: name}); warning != "" || math.IsNaN(p) ||
				p < 1 || p > 100 {
				t.Errorf("%v of %s: %s", p, name, warning)
			}
		}
		l.Values()
	})
}

func TestLargeFilesAreRefused(t *testing.T) {
	path := file(t, "")
	for _, size := range []int64{maxSettings + 1, MaxFile + 1} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Sources{File: path}); err == nil || !strings.Contains(err.Error(), "is it the right file?") {
			t.Error(err)
		}
	}
}
