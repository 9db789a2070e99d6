package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/llm"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

// check returns an error for the first invalid value. Thresholds only warn (SPEC
// B4).
func (l *Loaded) check() error {
	for _, c := range []struct {
		key string
		err error
	}{
		{"listen", checkListen(l.Listen)},
		{"origins", proxy.CheckOrigins(l.Origins)},
		{"sync", oneOf(l.Sync, "normal", "full")},
		{"low_mark", checkLowMark(l.LowMark)},
		{"keep_tools", checkTools(l.KeepTools)},
		{"margin", checkMargin(l.Margin)},
		{"upstream.openai", proxy.CheckUpstream("OpenAI", l.Upstream.OpenAI)},
		{"upstream.anthropic", proxy.CheckUpstream("Anthropic", l.Upstream.Anthropic)},
		{"upstream.gemini", proxy.CheckUpstream("the Gemini API", l.Upstream.Gemini)},
		{"upstream.ollama", proxy.CheckUpstream("Ollama", l.Upstream.Ollama)},
		{"upstream.chatgpt", proxy.CheckUpstream("ChatGPT", l.Upstream.ChatGPT)},
		{"upstream.bedrock", checkBedrock(l.Upstream.Bedrock)},
		{"recall.tokens", atLeast(l.Recall.Tokens, 1)},
		{"recall.wait", atLeast(l.Recall.Wait, 1)},
		{"recall.scope", oneOf(l.Recall.Scope, "conversation", "project")},
		{l.boundKey(), checkBounds(l.Thresholds)},
		{"condense.when", oneOf(l.Condense.When, "behind", "inline")},
		{"condense.wait", atLeast(l.Condense.Wait, 0)},
	} {
		if c.err != nil {
			return l.bad(c.key, c.err)
		}
	}
	if err := l.checkProfiles(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.Tenants)) {
		for _, f := range tenantFields() {
			if n := reflect.ValueOf(l.Tenants[name]).FieldByIndex(f.index).Int(); n < 0 {
				return l.bad(toml.Key{"tenants", name, f.key}.String(), atLeast(n, 0))
			}
		}
	}
	if err := l.checkThresholds(); err != nil {
		return err
	}
	l.ProfileTable = l.profiles()
	if err := l.checkEmbed(); err != nil {
		return err
	}
	return l.checkCondense()
}

// remoteRecallWait is the default of recall.wait if a server embeds the query.
const remoteRecallWait = time.Second

// checkEmbed finds settings of [embed] that do not go together.
func (l *Loaded) checkEmbed() error {
	e := &l.Embed
	switch {
	case e.URL == "" && e.Model != "":
		return l.bad("embed.model", errors.New("no server for vectors: give embed.url"))
	case e.URL == "":
		return nil
	case e.Model == "":
		return l.bad("embed.url", errors.New("no model for vectors: give embed.model"))
	}
	if _, err := llm.New(llm.Options{URL: e.URL, Key: e.Key, KeyName: "embed.key"}); err != nil {
		return l.bad(urlOrKey("embed", err), err)
	}
	if l.SourceOf("recall.wait").Kind == "default" {
		l.Recall.Wait = remoteRecallWait
	}
	return nil
}

// urlOrKey names the setting of a section that an error of llm.New is about.
func urlOrKey(section string, err error) string {
	if errors.Is(err, llm.ErrKey) {
		return section + ".key"
	}
	return section + ".url"
}

// checkProfiles refuses unusable profiles, and a default that is not among them.
func (l *Loaded) checkProfiles() error {
	for _, name := range slices.Sorted(maps.Keys(l.Profiles)) {
		if _, err := window.NewProfiles(l.Profiles[name].in(name)); err != nil {
			return l.bad(toml.Key{"profiles", name}.String(), err)
		}
	}
	name := l.Profile
	if name == "" {
		name = " " // an unknown name; for window, an empty one means the default
	}
	if _, err := l.profiles().Lookup(name); err != nil {
		return l.bad("profile", err)
	}
	return nil
}

// profiles returns the table of profiles, or nil if one is invalid.
func (l *Loaded) profiles() *window.ProfileTable {
	var own []window.Profile
	for _, name := range slices.Sorted(maps.Keys(l.Profiles)) {
		own = append(own, l.Profiles[name].in(name))
	}
	table, err := window.NewProfiles(own...)
	if err != nil {
		return nil
	}
	return table
}

// in converts the profile to package window's form.
func (p Profile) in(name string) window.Profile {
	return window.Profile{Name: name, Budget: p.Budget, Low: p.LowMark, Policy: p.Policy, Threshold: p.Threshold,
		Recall: p.Recall, Scope: p.Scope}
}

func checkListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("invalid listen address %q: give HOST:PORT, such as 127.0.0.1:8780", address)
	}
	return nil
}

func oneOf(text, one, other string) error {
	if text != one && text != other {
		return fmt.Errorf("%.40q is unknown: use %s or %s", text, one, other)
	}
	return nil
}

func checkLowMark(share float64) error {
	if !(share >= 0 && share < 1) {
		return fmt.Errorf("%g is not a share of the budget: give a number between 0 and 1, such as 0.5", share)
	}
	return nil
}

func checkTools(names []string) error {
	if slices.Contains(names, "") {
		return errors.New("empty name: give names of tools, such as read_file")
	}
	return nil
}

func checkMargin(share float64) error {
	if !number.Within(share, 0, 1) || share == 1 {
		return fmt.Errorf("%g is not a share of the window: give a number from 0 to less than 1, such as 0.1", share)
	}
	return nil
}

func checkBounds(t Thresholds) error {
	if !(t.Min >= 1 && t.Min <= t.Max && t.Max <= 100) {
		return fmt.Errorf("invalid threshold bounds %g…%g: give percents from 1 to 100, min not above max", t.Min,
			t.Max)
	}
	return nil
}

// boundKey returns the key of the bound, thresholds.min or thresholds.max, that the
// user set.
func (l *Loaded) boundKey() string {
	if l.SourceOf("thresholds.max").Kind == "default" {
		return "thresholds.min"
	}
	return "thresholds.max"
}

func atLeast[N ~int | ~int64](n, least N) error {
	if n < least {
		return fmt.Errorf("%v is too small: give %v or more", n, least)
	}
	return nil
}

// checkThresholds refuses what is not a number, and replaces percents outside the bounds
// with the ones that apply instead.
func (l *Loaded) checkThresholds() error {
	t := &l.Thresholds
	if t.All == -1 || l.SourceOf("thresholds.all").Kind == "default" {
		t.All = t.Max
	}
	for _, f := range fields() {
		name, ok := profileOf(&f)
		if !ok {
			continue
		}
		percent, instead, holds := f.of(&l.Settings), -1., t.All
		if name == "all" {
			instead, holds = t.Max, t.Max
		}
		n := percent.Float()
		if !number.Finite(n) {
			return l.bad(f.key, errNumber)
		}
		if n == -1 || n >= t.Min && n <= t.Max {
			continue
		}
		l.Warnings = append(l.Warnings,
			l.bad(f.key, fmt.Errorf("%g%% is outside %g…%g: %g%% is used", n, t.Min, t.Max, holds)).Error())
		percent.SetFloat(instead)
		delete(l.from, f.key)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Profiles)) {
		p, key := l.Profiles[name], toml.Key{"profiles", name, "threshold"}.String()
		if p.Threshold == -1 || p.Threshold == 0 || number.Within(p.Threshold, t.Min, t.Max) {
			continue
		}
		l.Warnings = append(l.Warnings,
			l.bad(key, fmt.Errorf("%g%% is outside %g…%g: %g%% is used", p.Threshold, t.Min, t.Max, t.All)).Error())
		p.Threshold = -1
		l.setProfile(name, p)
		delete(l.from, key)
	}
	return nil
}

// profileOf returns the profile whose threshold the field is, or all.
func profileOf(f *field) (string, bool) {
	return f.last(), f.owner == "Thresholds" && f.flag != ""
}

// checkCondense returns an error for settings that contradict each other.
func (l *Loaded) checkCondense() error {
	c := &l.Condense
	if c.URL != "" {
		e, err := condense.NewEndpoint(c.URL, c.Model, c.Key)
		switch {
		case err != nil && c.Model == "":
			return l.bad("condense.url", errors.New("no model for summaries: give condense.model or --condense-model"))
		case err != nil:
			return l.bad(urlOrKey("condense", err), err)
		}
		e.Close()
		return nil
	}
	key := ""
	switch {
	case c.Model != "":
		key = "condense.model"
	case c.Prompt != "":
		key = "condense.prompt"
	case c.When == "inline":
		key = "condense.when"
	default:
		return nil
	}
	return l.bad(key, errors.New("no server for summaries: give condense.url or --condense-url"))
}

// readOthers reads the files that settings name and merges models into the table.
func (l *Loaded) readOthers() error {
	if path := l.Condense.Prompt; path != "" {
		text, err := l.openFile(path)
		if err != nil && (strings.ContainsAny(path, "\n{") ||
			strings.Contains(path, " ") && !strings.ContainsAny(path, `/\`)) {
			err = fmt.Errorf("%q reads like instructions: write them to a file and give its path",
				clip.To(path, clip.Name))
		}
		if err != nil {
			return l.bad("condense.prompt", err)
		}
		l.Instructions = text
	}
	l.Table = l.newestTable()
	if path := l.ModelsFile; path != "" {
		text, err := l.openFile(path)
		if err == nil {
			l.Table, err = l.Table.Merge([]byte(text))
		}
		var wrong *token.ModelError
		if errors.As(err, &wrong) {
			wrong.File = path
		}
		if err != nil {
			return l.bad("models_file", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Models)) {
		for _, f := range modelFields() {
			v := reflect.ValueOf(l.Models[name]).FieldByIndex(f.index)
			if v.CanFloat() && !number.Finite(v.Float()) {
				return l.bad(toml.Key{"models", name, f.key}.String(), errNumber)
			}
		}
		table, err := lay(l.Table, name, l.Models[name])
		if err != nil {
			return l.badModel(name, err)
		}
		l.Table = table
	}
	return nil
}

// newestTable returns the built-in table, with newer prices if the user has stored some. A
// file of prices that cannot be used must not keep a server from starting: it is a warning.
func (l *Loaded) newestTable() *token.Models {
	if l.prices == "" {
		return token.Builtin()
	}
	text, err := l.openFile(l.prices)
	if errors.Is(err, fs.ErrNotExist) {
		return token.Builtin()
	}
	var s token.Snapshot
	var table *token.Models
	if err == nil {
		s, err = token.ReadSnapshot([]byte(text))
	}
	if err == nil && s.Date < token.BuiltinSnapshot().Date {
		err = fmt.Errorf("of %s, which is older than the table of this program", s.Date)
	}
	if err == nil && s.Ahead(time.Now()) {
		err = fmt.Errorf("of %s, a day that has not come", s.Date)
	}
	if err == nil {
		table, err = token.Builtin().Update(s)
	}
	if err != nil {
		l.Warnings = append(l.Warnings, fmt.Sprintf(
			"the file of newer prices %s is not used (%v): remove it, or store another with oriel models --update",
			l.prices, err))
		return token.Builtin()
	}
	return table
}

// lay merges a model into a table: into the entry with its name in any spelling, or
// as a new entry that starts from the one that the name resolved to so far.
func lay(table *token.Models, name string, m Model) (*token.Models, error) {
	type prices struct {
		Input        float64 `json:"input,omitempty"`
		Output       float64 `json:"output,omitempty"`
		CacheRead    float64 `json:"cache_read,omitempty"`
		CacheWrite   float64 `json:"cache_write,omitempty"`
		CacheWrite1h float64 `json:"cache_write_1h,omitempty"`
	}
	type entry struct {
		ID        string `json:"id"`
		Like      string `json:"like,omitempty"`
		Window    int    `json:"window,omitempty"`
		MaxInput  int    `json:"max_input,omitempty"`
		MaxOutput int    `json:"max_output,omitempty"`
		Prices    prices `json:"prices"`
	}
	merge := func(e entry) (*token.Models, error) {
		data, err := json.Marshal(map[string]any{"models": []entry{e}})
		if err != nil {
			return nil, err
		}
		return table.Merge(data)
	}
	e := entry{name, m.Like, m.Window, m.MaxInput, m.MaxOutput, prices{m.Input, m.Output, m.CacheRead, m.CacheWrite,
		m.CacheWrite1h}}
	known := table.Lookup(name)
	if m.Like != "" || !known.Known {
		return merge(e)
	}
	if e.Like = known.ID; known.ID == name {
		e.Like = ""
	}
	laid, err := merge(e)
	var wrong *token.ModelError
	if errors.As(err, &wrong) && wrong.Field == "id" {
		e.ID, e.Like = known.ID, "" // another spelling of the name
		return merge(e)
	}
	return laid, err
}

// badModel returns an error about a model's figures.
func (l *Loaded) badModel(name string, err error) error {
	key := toml.Key{"models", name}
	var wrong *token.ModelError
	if errors.As(err, &wrong) {
		for _, f := range modelFields() {
			if wrong.Field == f.key || wrong.Field == "prices."+f.key {
				key, err = append(key, f.key), wrong.Err
				break
			}
		}
	}
	return l.bad(key.String(), err)
}

// checkBedrock checks the upstream that may be empty.
func checkBedrock(base string) error {
	if base == "" {
		return nil
	}
	return proxy.CheckUpstream("Amazon Bedrock", base)
}
