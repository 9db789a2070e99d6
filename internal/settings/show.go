package settings

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Value is a setting in effect, for people and programs.
type Value struct {
	Key string `json:"key"`
	// Value is a string, a number, a bool or a list; for a secret, "set" or "not set".
	Value any `json:"value"`
	Source
	// Restart reports that a change needs a restart of the server.
	Restart bool `json:"restart,omitempty"`
	// About is the manual's text.
	About string `json:"about"`

	// Server reports that it is about the server alone and not about calls: where it
	// listens, and what is where on its disk.
	Server bool `json:"-"`
	// Text is the value as written in a file, except for secrets.
	Text string `json:"-"`
}

// Values returns all settings in the order of the file, including the user's own profiles,
// for models the figures that are set, and the limits of tenants.
func (l *Loaded) Values() []Value {
	var out []Value
	add := func(f *field, key string, v reflect.Value) {
		value := v.Interface()
		switch x := value.(type) {
		case time.Duration:
			value = x.String()
		case string:
			value = shown(f, x)
		case []string:
			value = append([]string{}, x...) // never nil, which is null in JSON
		}
		out = append(out, Value{Key: key, Value: value, Source: l.SourceOf(key), Restart: f.restart, About: f.doc(),
			Server: f.server, Text: write(reflect.ValueOf(value))})
		if last := &out[len(out)-1]; f.secret {
			last.Text = value.(string)
		}
	}
	for _, f := range fields() {
		add(&f, f.key, f.of(&l.Settings))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Profiles)) {
		for _, f := range profileFields() {
			add(&f, toml.Key{"profiles", name, f.key}.String(), reflect.ValueOf(l.Profiles[name]).FieldByIndex(f.index))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Models)) {
		for _, f := range modelFields() {
			key := toml.Key{"models", name, f.key}.String()
			if _, ok := l.from[key]; ok {
				add(&f, key, reflect.ValueOf(l.Models[name]).FieldByIndex(f.index))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Tenants)) {
		for _, f := range tenantFields() {
			add(&f, toml.Key{"tenants", name, f.key}.String(), reflect.ValueOf(l.Tenants[name]).FieldByIndex(f.index))
		}
	}
	return out
}

// shown returns a field's text without secrets.
func shown(f *field, text string) string {
	switch {
	case !f.secret:
		return WithoutKeys(text)
	case text == "":
		return "not set"
	}
	return "set"
}

// keyInPath matches Oriel's own token in the base URL of another proxy.
var keyInPath = regexp.MustCompile(`(://[^/?#]*/k/)[^/?#]+`)

// WithoutKeys returns a URL without its secrets: people put keys into queries, and into
// the path if the upstream is another Oriel. Other texts are returned unchanged.
func WithoutKeys(text string) string {
	text = keyInPath.ReplaceAllString(text, "${1}…")
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.RawQuery == "" {
		return text
	}
	base, query, _ := strings.Cut(text, "?")
	pairs := strings.Split(query, "&")
	for i, p := range pairs {
		if name, _, ok := strings.Cut(p, "="); ok && name != "api-version" {
			pairs[i] = name + "=…"
		}
	}
	return base + "?" + strings.Join(pairs, "&")
}

// HoldsSecret reports whether an environment variable is a setting with a secret value: a
// token, a key, or a URL that contains one.
func HoldsSecret(name, value string) bool {
	for _, f := range fields() {
		if strings.EqualFold(f.env, name) {
			return f.secret || WithoutKeys(value) != value
		}
	}
	return false
}

// Changed returns the keys whose values differ, and those of them that need a restart.
func Changed(old, next *Loaded) (keys, restart []string) {
	for _, f := range fields() {
		if reflect.DeepEqual(f.of(&old.Settings).Interface(), f.of(&next.Settings).Interface()) {
			continue
		}
		keys = append(keys, f.key)
		if f.restart {
			restart = append(restart, f.key)
		}
	}
	if !maps.Equal(old.Profiles, next.Profiles) {
		keys = append(keys, "profiles")
	}
	if !maps.Equal(old.Models, next.Models) {
		keys = append(keys, "models")
	}
	if !maps.Equal(old.Tenants, next.Tenants) {
		keys = append(keys, "tenants")
	}
	return keys, restart
}

// Lost returns the keys that a running server would lose by switching to next: protected
// keys, which decide where calls go and who may send them, if nothing sets them any more;
// or all keys of the file if it has none left. A server refuses such settings, because an
// emptied or truncated file is an accident and not a request for the defaults.
func Lost(old, next *Loaded) []string {
	if had := old.fileKeys(); len(had) > 0 && len(next.fileKeys()) == 0 {
		return had
	}
	var lost []string
	for _, f := range fields() {
		value := f.of(&next.Settings)
		blank := value.Kind() == reflect.String && strings.TrimSpace(value.String()) == ""
		unset := next.SourceOf(f.key).Kind == "default" || value.IsZero() || blank
		if f.protects && unset && old.SourceOf(f.key).Kind != "default" && !f.of(&old.Settings).IsZero() {
			lost = append(lost, f.key)
		}
	}
	return lost
}

// fileKeys returns the keys that the file sets.
func (l *Loaded) fileKeys() (keys []string) {
	for _, f := range fields() {
		if l.SourceOf(f.key).Kind == "file" {
			keys = append(keys, f.key)
		}
	}
	if len(l.Profiles) > 0 {
		keys = append(keys, "profiles")
	}
	if len(l.Models) > 0 {
		keys = append(keys, "models")
	}
	if len(l.Tenants) > 0 {
		keys = append(keys, "tenants")
	}
	return keys
}

// Example returns a file with every setting, its meaning and its default, commented out.
func Example() string {
	var b strings.Builder
	b.WriteString(`# Settings of Oriel. A line that begins with # and a key shows the default: remove the #
# to change it. Flags take precedence over environment variables, and these over this file.
# A running server applies changes by itself, except those that need a restart.
`)
	defaults := Default()
	for _, s := range sections() {
		if s.name != "" {
			fmt.Fprintf(&b, "\n%s[%s]\n", comment(docs()[s.owner+"."+s.here]), s.name)
		}
		for _, f := range s.fields {
			b.WriteString("\n" + comment(f.doc()) + "# " + f.names() + "\n")
			fmt.Fprintf(&b, "#%s = %s\n", f.last(), write(f.of(&defaults)))
		}
	}
	example := func(name, about string, fields []field, zero reflect.Value) {
		fmt.Fprintf(&b, "\n%s#[%s]\n", comment(docs()["Settings."+about]), name)
		for _, f := range fields {
			fmt.Fprintf(&b, "\n%s#%s = %s\n", comment(f.doc()), f.key, write(zero.FieldByIndex(f.index)))
		}
	}
	example("profiles.NAME", "Profiles", profileFields(), reflect.ValueOf(Profile{}))
	example(`models."NAME"`, "Models", modelFields(), reflect.ValueOf(Model{}))
	example(`tenants."NAME"`, "Tenants", tenantFields(), reflect.ValueOf(Tenant{}))
	return b.String()
}

// names lists the other ways to set the field.
func (f *field) names() string {
	s := "$" + f.env
	if f.flag != "" {
		s += ", --" + f.flag
	}
	if f.restart {
		s += "; needs a restart"
	}
	return s
}

func comment(text string) string {
	return "# " + strings.ReplaceAll(text, "\n", "\n# ") + "\n"
}
