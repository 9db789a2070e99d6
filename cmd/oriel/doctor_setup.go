package main

import (
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// setup is the configuration that a server would use.
type setup struct {
	proxy    proxy.Options
	condense string // base URL of the server that writes summaries, or ""
	embed    string // base URL of the server that makes vectors, or ""
	data     *history
	prices   token.Snapshot // whose figures the table of models has
}

func newSetup(s settings.Settings) setup {
	o := proxy.Options{Listen: s.Listen, OpenAI: s.Upstream.OpenAI, Anthropic: s.Upstream.Anthropic,
		Gemini: s.Upstream.Gemini, Ollama: s.Upstream.Ollama, ChatGPT: s.Upstream.ChatGPT,
		Bedrock: s.Upstream.Bedrock, Origins: s.Origins}
	if s.Token != "" {
		o.Tokens = map[string]string{s.Token: timeline.Local}
	}
	return setup{o, s.Condense.URL, s.Embed.URL, &history{dir: s.Data, url: s.Store, given: true},
		token.Builtin().Snapshot()}
}

// examineSettings loads the settings. If they are unusable it returns those
// without the file, so that the other checks can run.
func examineSettings(sources settings.Sources) (setup, finding) {
	const name = "settings"
	loaded, err := loadSettings(sources)
	if err != nil {
		s := settings.Default()
		sources.File = ""
		if rest, err := loadSettings(sources); err == nil {
			s = rest.Settings
		}
		return newSetup(s), finding{name, failed, err.Error(),
			"oriel serve would not start; the other checks go without the file"}
	}
	s := newSetup(loaded.Settings)
	s.prices = loaded.Table.Snapshot()
	found := loaded.File + " is valid"
	switch {
	case loaded.File == "" && sources.File != "":
		found = fmt.Sprintf("no file (%s would be read): defaults, flags and the environment", sources.File)
	case loaded.File == "":
		found = "no file: defaults, flags and the environment"
	}
	if _, err := proxy.New(s.proxy); err != nil {
		return s, finding{name, failed, found + ", but " + err.Error(), ""}
	}
	if len(loaded.Warnings) > 0 {
		return s, finding{name, warning, found + ", but " + strings.Join(loaded.Warnings, "; "), ""}
	}
	return s, finding{name, fine, found, ""}
}

// checkPrices checks the age of the table of models. Old prices make estimates of costs
// wrong; a window that changed is learnt from a refusal.
func (d *doctor) checkPrices() finding {
	const name = "prices"
	age := d.prices.Age(d.now())
	found := fmt.Sprintf("%s of %s, %s old", d.prices.Source, d.prices.Date, term.Plural(age, "day", "days"))
	if age > token.MaxAge {
		return finding{name, warning, found,
			"install a newer Oriel, or give a newer price file to oriel models --update"}
	}
	return finding{name, fine, found, ""}
}
