package main

import (
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline"
)

// setup is the configuration that a server would use.
type setup struct {
	proxy    proxy.Options
	condense string // base URL of the server that writes summaries, or ""
	embed    string // base URL of the server that makes vectors, or ""
	data     *history
}

func newSetup(s settings.Settings) setup {
	o := proxy.Options{Listen: s.Listen, OpenAI: s.Upstream.OpenAI, Anthropic: s.Upstream.Anthropic,
		Gemini: s.Upstream.Gemini, Ollama: s.Upstream.Ollama, Origins: s.Origins}
	if s.Token != "" {
		o.Tokens = map[string]string{s.Token: timeline.Local}
	}
	return setup{o, s.Condense.URL, s.Embed.URL, &history{dir: s.Data, url: s.Store, given: true}}
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
