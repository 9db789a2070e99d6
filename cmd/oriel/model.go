package main

import (
	"strings"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/embed/remote"
	"github.com/oriel-context/oriel/internal/settings"
)

// openModel opens the source of vectors: the server in the settings, else the
// built-in model with the given number of threads; 0 means all.
func openModel(e settings.Embed, threads int) (embed.Model, func(), error) {
	if e.URL != "" {
		m, err := remote.New(remote.Options{BaseURL: e.URL, Model: e.Model, Key: e.Key})
		if err != nil {
			return nil, nil, err
		}
		return m, m.Close, nil
	}
	m, err := minilm.Open(minilm.Options{Threads: threads})
	if err != nil {
		return nil, nil, err
	}
	return m, func() { m.Close() }, nil
}

// embedSettings returns the settings [embed] for commands other than servers.
// Environment variables of servers do not make these commands fail.
func embedSettings() (settings.Embed, error) {
	sources := configSources("")
	sources.Env = envOf(func(name string) bool { return strings.HasPrefix(name, "ORIEL_EMBED_") })
	l, err := settings.Load(sources)
	if err != nil {
		return settings.Embed{}, err
	}
	return l.Embed, nil
}
