package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// codex is what the settings of Codex say about its calls. It takes its base URL from
// there and from its command line, and from no variable.
type codex struct {
	// provider is that of its settings whose calls are made, "" for OpenAI's own, and
	// base the URL that they name, "" for none.
	provider, base string
	// aside is why its calls cannot come here, "" where they can.
	aside string
}

// readCodex reads them as Codex does for these arguments. What cannot be read is left to
// Codex itself to complain of.
func readCodex(args []string, env environment) codex {
	home := env.get("CODEX_HOME")
	if home == "" {
		home = filepath.Join(env.first("HOME", "USERPROFILE"), ".codex")
	}
	var settings struct {
		Provider  string `toml:"model_provider"`
		Base      string `toml:"openai_base_url"`
		Providers map[string]struct {
			Base  string `toml:"base_url"`
			Login bool   `toml:"requires_openai_auth"`
		} `toml:"model_providers"`
	}
	if data, err := os.ReadFile(filepath.Join(home, "config.toml")); err == nil {
		toml.Decode(string(data), &settings)
	}
	for i, a := range args {
		text, ok := strings.CutPrefix(a, "--config=")
		if !ok && (a == "-c" || a == "--config") && i+1 < len(args) {
			text, ok = args[i+1], true
		}
		if name, value, _ := strings.Cut(text, "="); ok && name == "model_provider" {
			settings.Provider = strings.Trim(value, `"' `)
		}
	}
	c := codex{base: settings.Base}
	login := true
	if name := settings.Provider; name != "" && name != "openai" {
		p := settings.Providers[name]
		if c.provider, c.base, login = name, p.Base, p.Login; p.Base == "" {
			c.aside = fmt.Sprintf("its provider %q has no base_url in its config.toml", name)
		}
	}
	if slices.Contains(args, "--oss") {
		c.aside = "--oss has it call a model of this machine"
	}
	if login && env.get("CODEX_API_KEY") == "" && chatGPTLogin(filepath.Join(home, "auth.json")) {
		c.aside = "it is logged in with ChatGPT, which the API does not take: log in with a key, or set CODEX_API_KEY for codex exec"
	}
	return c
}

// chatGPTLogin reports whether Codex is logged in with ChatGPT. Keys and tokens are not
// read, only whether there are any.
func chatGPTLogin(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var auth struct {
		Mode   string          `json:"auth_mode"`
		Key    json.RawMessage `json:"OPENAI_API_KEY"`
		Tokens json.RawMessage `json:"tokens"`
	}
	if err := json.Unmarshal(data, &auth); err != nil {
		return false
	}
	none := func(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }
	if auth.Mode != "" {
		return strings.HasPrefix(strings.ToLower(auth.Mode), "chatgpt")
	}
	return none(auth.Key) && !none(auth.Tokens)
}

// arguments are those that have Codex call the proxy at base. They stand first, so
// that the user's own go before them.
func (c codex) arguments(base string) []string {
	if c.aside != "" {
		return nil
	}
	key := "openai_base_url"
	if c.provider != "" {
		key = "model_providers." + c.provider + ".base_url"
	}
	return []string{"-c", fmt.Sprintf("%s=%q", key, base+"/v1")}
}
