package serve

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

// spoolFolder returns the folder for calls that the history does not accept. Each history
// has its own within the one of the settings, because a call belongs into its history.
func (p Place) spoolFolder(setting string) (string, error) {
	name, err := p.name()
	if err != nil {
		return "", err
	}
	if setting == "" {
		if setting, err = userState(runtime.GOOS, os.Getenv, os.UserHomeDir); err != nil {
			return "", err
		}
	}
	return filepath.Join(setting, timeline.HashOf([]byte(name)).String()[:16]), nil
}

// name returns what a history is known by: its folder, or its database without passwords,
// which change.
func (p Place) name() (string, error) {
	if p.URL != "" {
		return postgres.Redact(p.URL), nil
	}
	return filepath.Abs(p.Dir)
}

// limitsOf returns the limits of tenants as the proxy and the engine take them.
func limitsOf(tenants map[string]settings.Tenant) (calls map[string]int, bytes map[string]int64) {
	calls, bytes = make(map[string]int, len(tenants)), make(map[string]int64, len(tenants))
	for name, t := range tenants {
		calls[name], bytes[name] = t.CallsPerMinute, int64(t.StoredBytes)
	}
	return calls, bytes
}
