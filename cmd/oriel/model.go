package main

import (
	"strings"

	"github.com/oriel-context/oriel/internal/settings"
)

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
