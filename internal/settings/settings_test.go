package settings

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file writes a file of settings.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

// texts is a value of each type, in a file and elsewhere, that is no default.
func texts(f *field) (inFile, elsewhere string) {
	special := map[string]string{
		"listen": "127.0.0.1:9", "sync": "full", "profile": "chat", "upstream.openai": "http://a/v1",
		"upstream.anthropic": "http://a", "upstream.gemini": "http://g", "upstream.ollama": "http://l",
		"upstream.chatgpt": "http://c", "upstream.bedrock": "http://b",
		"condense.url": "http://a/v1", "embed.url": "http://a/v1", "condense.when": "inline",
		"recall.scope": "project",
		"origins":      "https://a.example",
	}
	v := f.of(new(Settings))
	switch text, ok := special[f.key]; {
	case f.key == "keep_tools":
		return `["Read"]`, "Read"
	case f.key == "origins":
		return `["` + text + `"]`, text
	case ok:
		return `"` + text + `"`, text
	case v.Type() == durationType:
		return `"7s"`, "7s"
	case v.Kind() == reflect.String:
		return `"some-` + f.last() + `"`, "some-" + f.last()
	case v.Kind() == reflect.Bool:
		return "true", "true"
	case f.key == "low_mark", f.key == "margin":
		return "0.25", "0.25"
	}
	return "60", "60"
}

func TestFlagsGoBeforeTheEnvironmentTheFileAndTheDefaults(t *testing.T) {
	// What does not stand alone.
	dir := t.TempDir()
	prompt, models := filepath.Join(dir, "prompt"), filepath.Join(dir, "models.json")
	for path, text := range map[string]string{prompt: "Sum up.", models: `{"models":[]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	base := map[string]string{"condense.url": "http://base", "condense.model": "base", "embed.url": "http://base",
		"embed.model": "base"}
	alone := map[string]bool{"condense.url": true, "condense.model": true, "embed.url": true,
		"embed.model": true} // without one another they are no settings
	for _, f := range fields() {
		inFile, elsewhere := texts(&f)
		switch f.key {
		case "condense.prompt":
			inFile, elsewhere = `'`+prompt+`'`, prompt
		case "models_file":
			inFile, elsewhere = `'`+models+`'`, models
		}
		t.Run(f.key, func(t *testing.T) {
			var want Settings
			for _, from := range []string{"default", "file", "environment", "flag"} {
				if from == "default" && alone[f.key] {
					continue
				}
				s := Sources{Env: env(nil), Flags: map[string]string{}}
				where := ""
				// Each source comes on top of others that say something else, where the
				// type has more than two values.
				other := map[bool]string{true: elsewhere, false: "false"}[f.of(new(Settings)).Kind() != reflect.Bool]
				switch from {
				case "file":
					section, key, ok := strings.Cut(f.key, ".")
					text := "\n[" + section + "]\n" + key + " = " + inFile + "\n"
					if !ok {
						text = "\n\n" + section + " = " + inFile + "\n"
					}
					s.File = file(t, text)
					where = s.File + ":3"
				case "environment":
					s.File = file(t, "")
					s.Env = env(map[string]string{f.env: elsewhere})
					where = "$" + f.env
				case "flag":
					s.Env = env(map[string]string{f.env: other})
					s.Flags[f.key] = elsewhere
					where = "--" + f.flag
				}
				for k, v := range base {
					if section, _, _ := strings.Cut(k, "."); k != f.key && strings.HasPrefix(f.key, section+".") {
						s.Flags[k] = v
					}
				}
				l, err := Load(s)
				if err != nil {
					t.Fatal(from, err)
				}
				if got := l.SourceOf(f.key); got != (Source{from, where}) {
					t.Errorf("%s: source %v", from, got)
				}
				got := f.of(&l.Settings).Interface()
				switch from {
				case "default":
					defaults := Default()
					if !reflect.DeepEqual(got, f.of(&defaults).Interface()) {
						t.Errorf("default: %v", got)
					}
				case "file":
					want = l.Settings
					defaults := Default()
					if reflect.DeepEqual(got, f.of(&defaults).Interface()) {
						t.Errorf("the file's value %v is not used, or the default", got)
					}
				default:
					if !reflect.DeepEqual(got, f.of(&want).Interface()) {
						t.Errorf("%s: %v, want %v", from, got, f.of(&want))
					}
				}
			}
		})
	}
}

func TestTheNearerSourceWins(t *testing.T) {
	path := file(t, "profile = \"chat\"\nsync = \"full\"\nlisten = \"127.0.0.1:1\"\n")
	s := Sources{
		File:  path,
		Env:   env(map[string]string{"ORIEL_PROFILE": "thrifty", "ORIEL_LISTEN": "127.0.0.1:2", "ORIEL_DATA": ""}),
		Flags: map[string]string{"listen": "127.0.0.1:3", "events": ""},
	}
	l, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	if l.Sync != "full" || l.Profile != "thrifty" || l.Listen != "127.0.0.1:3" || l.Data != "" {
		t.Errorf("%+v", l.Settings)
	}
	for key, want := range map[string]Source{
		"sync": {"file", path + ":2"}, "profile": {"environment", "$ORIEL_PROFILE"}, "listen": {"flag", "--listen"},
		"events": {"flag", "--events"}, "data": {Kind: "default"},
	} {
		if got := l.SourceOf(key); got != want {
			t.Errorf("%s: %v", key, got)
		}
	}
}

// The names that were there before this package keep their meaning.
func TestKnownVariables(t *testing.T) {
	for key, name := range map[string]string{
		"data": "ORIEL_DATA", "token": "ORIEL_TOKEN", "upstream.openai": "ORIEL_UPSTREAM_OPENAI",
		"upstream.anthropic": "ORIEL_UPSTREAM_ANTHROPIC",
		"condense.key":       "ORIEL_CONDENSE_KEY", "embed.key": "ORIEL_EMBED_KEY", "models_file": "ORIEL_MODELS",
	} {
		if f := findField(key); f == nil || f.env != name {
			t.Errorf("%s is not %s", key, name)
		}
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range slices.Concat(fields(), modelFields()) {
		if len(f.doc()) < 10 || !strings.HasSuffix(f.doc(), ".") || f.last() == "" {
			t.Errorf("%s.%s has no comment, or no key: %q", f.owner, f.name, f.doc())
		}
		if f.owner != "Model" && (seen[f.key] || seen[f.env]) {
			t.Errorf("%s or %s is there twice", f.key, f.env)
		}
		seen[f.key], seen[f.env] = true, true
	}
	for _, s := range sections()[1:] {
		if docs()[s.owner+"."+s.here] == "" {
			t.Errorf("the section %s has no comment", s.name)
		}
	}
	about, _, _ := strings.Cut(findField("profile").doc(), ".")
	cut := 0
	for _, name := range window.Profiles() {
		if !strings.Contains(about, `"`+name+`"`) {
			t.Errorf("the comment does not tell of the profile %s", name)
		}
		p, err := window.LookupProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Off {
			cut++
		}
		if f := findField("thresholds." + name); !p.Off && f == nil {
			t.Errorf("the profile %s has no threshold", name)
		}
	}
	if got := len(Default().Thresholds.Percents().Profiles); got != cut {
		t.Errorf("%d thresholds", got)
	}
}

var commentedOut = regexp.MustCompile(`(?m)^#([a-z\[])`)

// The example, as it is and with every line in use, is the defaults.
func TestTheExampleIsTheDefaults(t *testing.T) {
	text := Example()
	all := commentedOut.ReplaceAllString(text, "$1")
	if n := strings.Count(all, "\n") - strings.Count(text, "\n"); n != 0 || all == text {
		t.Fatal("nothing is commented out")
	}
	for _, text := range []string{text, all} {
		l, err := Load(Sources{File: file(t, text)})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if p, ok := l.Profiles["NAME"]; ok != (text == all) || p != (Profile{}) {
			t.Errorf("%v", l.Profiles)
		}
		delete(l.Profiles, "NAME") // which is like full
		delete(l.Tenants, "NAME")  // which has no limits
		if diff := cmp.Diff(Default(), l.Settings, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
	for _, f := range slices.Concat(fields(), profileFields(), modelFields(), tenantFields()) {
		if !strings.Contains(text, "\n#"+f.last()+" = ") || !strings.Contains(text, strings.Split(f.doc(), "\n")[0]) {
			t.Errorf("%s is not in the example", f.key)
		}
	}
}

// docs/reference/config.toml is what oriel config --init prints.
func TestTheExampleInTheDocumentsIsCurrent(t *testing.T) {
	got, err := os.ReadFile("../../docs/reference/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.ReplaceAll(string(got), "\r\n", "\n"); text != Example() {
		t.Error("docs/reference/config.toml is not: go run ./cmd/oriel config --init > docs/reference/config.toml")
	}
}

func TestModelsAreLaidOverTheTable(t *testing.T) {
	path := file(t, `
[models."gpt-4o"]
window = 64_000
input = 1.5
[models.house]
like = "claude-sonnet-4-5"
window = 150000
[models."anthropic/claude-opus-4-1"]
max_output = 1234
[models."gpt-4o-2024-08-06"]
window = 50_000
`)
	l, err := Load(Sources{File: path})
	if err != nil {
		t.Fatal(err)
	}
	opus := l.Table.Lookup("claude-opus-4-1")
	if m := l.Table.Lookup("gpt-4o"); m.Window != 64_000 || m.Prices.Input != 1.5 || m.Prices.Output == 0 || !m.Known {
		t.Errorf("%+v", m)
	}
	if m := l.Table.Lookup("gpt-4o-2024-08-06"); m.Window != 50_000 || m.Prices.Output == 0 {
		t.Errorf("%+v", m)
	}
	if m := l.Table.Lookup("house"); m.Window != 150_000 || m.Provider != "anthropic" {
		t.Errorf("%+v", m)
	}
	if opus.MaxOutput != 1234 || opus.Window < 200_000 {
		t.Errorf("%+v", opus)
	}
	_, err = Load(Sources{File: file(t, "[models.house]\nlike=\"gpt-4o\"\nmax_input = 1_000_000_000\n")})
	if err == nil || !strings.Contains(err.Error(), "config.toml:3: models.house.max_input: ") {
		t.Error(err)
	}
}

func TestAnEmptyListIsShownAsAList(t *testing.T) {
	l, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(l.Values())
	if err != nil || strings.Contains(string(text), `"value":null`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	const secret = "canary-5d1"
	path := file(t, "token = \""+secret+"\"\n[condense]\nurl = \"http://a\"\nmodel = \"m\"\nkey = \""+secret+
		"\"\n[embed]\nurl = \"http://a\"\nmodel = \"m\"\nkey = \""+secret+
		"\"\n[upstream]\nopenai = \"http://a/v1?api-version=2&key="+secret+"\"\nanthropic = \"http://a/k/"+secret+
		"/p/chat\"\n")
	l, err := Load(Sources{File: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range l.Values() {
		if text, _ := v.Value.(string); strings.Contains(text+v.Text, secret) {
			t.Errorf("%s shows it", v.Key)
		}
		switch v.Key {
		case "token", "condense.key", "embed.key":
			if v.Text != "set" || v.Kind != "file" {
				t.Errorf("%+v", v)
			}
		case "upstream.openai":
			if v.Text != `"http://a/v1?api-version=2&key=…"` {
				t.Error(v.Text)
			}
		}
	}
	for _, text := range []string{
		"token = " + secret, "token = 12" + secret, "token = \"" + secret, "token = ['" + secret + "']",
		"token = '" + secret + "'\ntoken = '" + secret + "'",
		"[condense]\nkey = '''" + secret, "[condense]\nkey = {a = '" + secret + "'}", "tokn = '" + secret + "'",
		"upstream.openai = 'http://u:" + secret + "@h'",
		"[upstream]\nanthropic = 'x://" + secret + "'", "[embed]\nurl = 'http://example.com'\nmodel = 'm'\nkey = '" +
			secret + "'", "[embed]\nurl = 'http://u:" + secret + "@h'\nmodel = 'm'",
		"[condense]\nurl = 'http://example.com'\nmodel = 'm'\nkey = '" + secret + "'",
		"condense = {url = 'http://a', key = " + secret + "}", "condense = {key " + secret + "}",
	} {
		if _, err := Load(Sources{File: file(t, text)}); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNearVariable(t *testing.T) {
	for name, want := range map[string]string{
		"ORIEL_PROFIL": "ORIEL_PROFILE", "ORIEL_UPSTREAM_OPNEAI": "ORIEL_UPSTREAM_OPENAI",
		"ORIEL_PROFILE": "", "ORIEL_CONFIG": "", "ORIEL_MODELS": "", "ORIEL_SOMETHING_ELSE_ALTOGETHER": "",
	} {
		if got := NearVariable(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// SPEC B4: profiles of one's own, with where each value comes from; a threshold outside the
// bounds warns, and that for all holds.
func TestProfilesOfOnesOwn(t *testing.T) {
	path := file(t, `profile = "code-mode"
margin = 0
[profiles.code-mode]
budget = 30_000
low_mark = 0.4
policy = "mask"
threshold = 60
recall = -1
[profiles.plain]
[profiles.wrong]
threshold = 150
`)
	l, err := Load(Sources{File: path, Flags: map[string]string{"thresholds.plain": "70"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Warnings) != 1 ||
		l.Warnings[0] != path+":11: profiles.wrong.threshold: 150% is outside 5…100: 100% is used" {
		t.Errorf("%q", l.Warnings)
	}
	for name, want := range map[string]window.Profile{
		"code-mode": {Name: "code-mode", Budget: 30_000, Low: 0.4, Policy: "mask", Threshold: 60, Recall: -1},
		"plain":     {Name: "plain", Policy: "ladder", Words: true, Threshold: 70},
		"wrong":     {Name: "wrong", Policy: "ladder", Words: true, Threshold: -1},
	} {
		if got, err := l.ProfileTable.Lookup(name); err != nil || got != want {
			t.Errorf("%+v, want %+v; %v", got, want, err)
		}
	}
	if l.WindowMargin() != window.NoMargin {
		t.Error(l.WindowMargin())
	}
	shown := map[string]string{}
	for _, v := range l.Values() {
		shown[v.Key] = strings.TrimSpace(v.Text + " " + v.Kind + " " + strings.TrimPrefix(v.Where, path))
	}
	for key, want := range map[string]string{
		"profile": `"code-mode" file :1`, "margin": "0 file :2", "profiles.code-mode.budget": "30000 file :4",
		"profiles.code-mode.policy": `"mask" file :6`,
		"profiles.plain.threshold":  "70 flag --threshold", "profiles.plain.budget": "0 default",
		"profiles.wrong.threshold": "-1 default",
	} {
		if shown[key] != want {
			t.Errorf("%s: %q, want %q", key, shown[key], want)
		}
	}
	if _, err := Load(Sources{File: path, Flags: map[string]string{"thresholds.plan": "70"}}); err == nil ||
		!strings.Contains(err.Error(), `--threshold: unknown profile "plan": did you mean plain?`) {
		t.Error(err)
	}
	other, err := Load(Sources{File: file(t, "profile = 'x'\n[profiles.x]\n")})
	if err != nil {
		t.Fatal(err)
	}
	if keys, _ := Changed(l, other); !slices.Contains(keys, "profiles") {
		t.Error(keys)
	}
}

func TestTenants(t *testing.T) {
	l, err := Load(Sources{File: file(t,
		"[tenants.\"*\"]\ncalls_per_minute = 60\n[tenants.ann]\ncalls_per_minute = 0\nstored_bytes = 2_000_000_000\n")})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Tenant{"*": {CallsPerMinute: 60}, "ann": {StoredBytes: 2e9}}
	if diff := cmp.Diff(want, l.Tenants); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"[tenants.ann]\ncalls_per_minute = -1\n":  ":2: tenants.ann.calls_per_minute: -1 is too small: give 0 or more",
		"[tenants.ann]\ncalls = 1\n":              "did you mean tenants.ann.calls_per_minute?",
		"[tenants.ann]\nstored_bytes = \"2GB\"\n": "it must be a whole number",
	} {
		if _, err := Load(Sources{File: file(t, text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Prices that somebody stored are used, and watched; a file that cannot be used is a warning.
func TestStoredPricesAreUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.json")
	l, err := Load(Sources{Prices: path})
	if err != nil || len(l.Warnings) > 0 || l.Table.Lookup("grok-99").Known {
		t.Fatalf("without the file: %v, %v", l.Warnings, err)
	}
	for text, warns := range map[string]string{
		`{"source":"x","date":"` + time.Now().UTC().Format(time.DateOnly) +
			`","models":[{"id":"grok-99","provider":"xai","window":9000}]}`: "",
		`{"source":"x","date":"9999-01-02","models":[{"id":"grok-99","provider":"xai","window":9000}]}`: "has not come",
		`{"source":"x","date":"2001-01-02","models":[{"id":"grok-99","provider":"xai","window":9000}]}`: "older than",
		`{"source":"x"`: "ends too early",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Load(Sources{Prices: path, File: file(t, "[models.grok-99]\nmax_output = 10\n")})
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Join(l.Warnings, ""); (warned != "") != (warns != "") || !strings.Contains(warned, warns) {
			t.Errorf("%s: warnings %q", text, warned)
		}
		m := l.Table.Lookup("grok-99")
		if want := 9000; warns == "" && (m.Window != want || m.MaxOutput != 10) || warns != "" && m.Window == want {
			t.Errorf("%s: %+v", text, m)
		}
	}
}
