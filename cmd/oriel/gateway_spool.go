package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

// spoolFolder returns the folder for calls that the history does not accept. Each history
// has its own within the one of the settings, because a call belongs into its history.
func (h *history) spoolFolder(setting string) (string, error) {
	name, err := h.name()
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
func (h *history) name() (string, error) {
	url, err := h.database()
	if err != nil || url != "" {
		return postgres.Redact(url), err
	}
	dir, err := h.folder()
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// userState returns the folder in which a user's programs keep what is not worth a backup.
func userState(system string, env func(string) string, home func() (string, error)) (string, error) {
	if system == "windows" || system == "darwin" || system == "ios" { // they have none
		dir, err := userData(system, env, home)
		return filepath.Join(dir, "spool"), err
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "oriel", "spool"), nil
	}
	dir, err := home()
	if err != nil {
		return "", fmt.Errorf("no folder for calls that the history does not accept: %w: give --spool or set ORIEL_SPOOL", err)
	}
	return filepath.Join(dir, ".local", "state", "oriel", "spool"), nil
}

// limitsOf returns the limits of tenants as the proxy and the engine take them.
func limitsOf(tenants map[string]settings.Tenant) (calls map[string]int, bytes map[string]int64) {
	calls, bytes = make(map[string]int, len(tenants)), make(map[string]int64, len(tenants))
	for name, t := range tenants {
		calls[name], bytes[name] = t.CallsPerMinute, int64(t.StoredBytes)
	}
	return calls, bytes
}
