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

	"github.com/oriel-context/oriel/internal/proxy"
)

// codex is what Codex's settings say about its calls. Codex takes its base URL
// from them and from its command line, but not from a variable.
type codex struct {
	// provider is the provider in its settings that is called, "" for OpenAI;
	// base is the URL that they name, or "".
	provider, base string
	// chatGPT reports that the calls are those of a ChatGPT login, and that base is for them.
	chatGPT bool
	// aside is why its calls cannot come here, or "".
	aside string
}

// readCodex reads Codex's settings as Codex would for these arguments. It
// ignores what it cannot read: Codex itself reports that.
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
		// Such a login goes through a proxy only if its owner said so.
		if c.chatGPT = strings.HasSuffix(strings.TrimRight(c.base, "/"), chatGPTPath); !c.chatGPT {
			c.aside = "it is logged in with ChatGPT: set openai_base_url = \"" + proxy.DefaultChatGPT + chatGPTPath +
				"\" in its config.toml to have these calls come here, log in with a key, or set CODEX_API_KEY for codex exec"
		}
	}
	return c
}

// chatGPTPath ends the base URL of calls with a ChatGPT login.
const chatGPTPath = "/backend-api/codex"

// chatGPTLogin reports whether Codex is logged in with ChatGPT. It does not
// read keys and tokens, only whether there are any.
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

// arguments returns the arguments that make Codex call the proxy at base. They
// come first, so that the user's own override them.
func (c codex) arguments(base string) []string {
	if c.aside != "" {
		return nil
	}
	key := "openai_base_url"
	if c.provider != "" {
		key = "model_providers." + c.provider + ".base_url"
	}
	path := "/v1"
	if c.chatGPT {
		path = chatGPTPath
	}
	return []string{"-c", fmt.Sprintf("%s=%q", key, base+path)}
}
