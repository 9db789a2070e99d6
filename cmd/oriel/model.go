package main

import (
	"strings"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/embed/remote"
	"github.com/oriel-context/oriel/internal/settings"
)

// openModel opens what makes vectors: the server that settings name, else the model in this
// program, on so many threads; 0 is as many as there are.
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

// embedSettings are those of [embed], for commands other than servers: they are not kept
// from working by a variable that is a server's.
func embedSettings() (settings.Embed, error) {
	sources := configSources("")
	sources.Env = envOf(func(name string) bool { return strings.HasPrefix(name, "ORIEL_EMBED_") })
	l, err := settings.Load(sources)
	if err != nil {
		return settings.Embed{}, err
	}
	return l.Embed, nil
}
