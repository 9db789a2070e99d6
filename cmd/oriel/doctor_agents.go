package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	agents "github.com/oriel-context/oriel/internal/setup"
)

// checkAgents reports where programs of this environment, Claude Code and
// Codex send their calls. It only reads files, and reports nothing of them but
// the host.
func (d *doctor) checkAgents() []finding {
	var findings []finding
	for _, v := range []struct{ name, vendor string }{{"ANTHROPIC_BASE_URL", "Anthropic"},
		{"OPENAI_BASE_URL", "OpenAI"}, {"GOOGLE_GEMINI_BASE_URL", "Google"}} {
		findings = append(findings, d.checkVariable(v.name, v.vendor))
	}
	findings = append(findings, d.checkClaude()...)
	findings = append(findings, d.checkCodex()...)
	return append(findings, d.checkOtherAgents()...)
}

func (d *doctor) checkVariable(name, vendor string) finding {
	base := d.env.get(name)
	if base == "" {
		return finding{name, fine, "not set: programs started here go straight to " + vendor + " unless told otherwise",
			""}
	}
	return d.judgeBase(name, base, "set", d.baseFor(vendor), "unset "+name)
}

// judgeBase reports whether a base URL leads to a proxy that runs. direct is how to do
// without one.
func (d *doctor) judgeBase(check, base, where, want, direct string) finding {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "":
		return finding{check, warning, where + ", but no URL", "make it " + want}
	case d.unserved(u):
		return finding{check, failed, fmt.Sprintf("%s to %s, a proxy that is not running", where, place(u)),
			"start it with oriel serve, have it started always with oriel service install, or " + direct}
	case !d.leadsHere(u):
		return finding{check, warning, fmt.Sprintf("%s to %s, past the proxy at %s", where, place(u), d.proxy.Listen),
			"make it " + want}
	}
	return finding{check, fine, fmt.Sprintf("%s to the proxy at %s", where, u.Host), ""}
}

// unserved reports whether nothing listens at a URL of this machine.
func (d *doctor) unserved(u *url.URL) bool {
	if !d.leadsHere(u) && !isLoopback(u.Hostname()) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), portTimeout)
	defer cancel()
	port := cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80")
	return !d.listens(ctx, net.JoinHostPort(u.Hostname(), port))
}

// checkOtherAgents reports the agents that oriel setup has set up, if the proxy that they
// call is not running.
func (d *doctor) checkOtherAgents() []finding {
	dir, err := d.data.folder()
	if err != nil {
		return nil // checkFolder reports it
	}
	var findings []finding
	for _, p := range agents.Recorded(filepath.Join(dir, "setup")) {
		u, err := url.Parse(p.URL)
		if p.Agent == "claude-code" || p.Agent == "codex" || err != nil || !d.unserved(u) {
			continue // the first two have checks of their own
		}
		if !agents.Calls(p.Agent) {
			findings = append(findings,
				finding{p.Agent, warning, "set up to search a history whose server is not running",
					"start it with oriel serve, or " + undoSetup(p.Agent)})
			continue
		}
		findings = append(findings, d.judgeBase(p.Agent, p.URL, "set up to send its calls", "", undoSetup(p.Agent)))
	}
	return findings
}

// undoSetup is how an agent is made to call its provider again.
func undoSetup(agent string) string { return "oriel setup " + agent + " --undo" }

// baseFor returns the base URL that leads a vendor's clients to the proxy.
func (d *doctor) baseFor(vendor string) string {
	host, port, err := net.SplitHostPort(d.proxy.Listen)
	if err != nil {
		return "the address that oriel serve prints"
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	base := "http://" + net.JoinHostPort(host, port)
	if vendor == "OpenAI" {
		base += "/v1"
	}
	return base
}

// leadsHere reports whether a URL is one of the proxy's.
func (d *doctor) leadsHere(u *url.URL) bool {
	host, port, err := net.SplitHostPort(d.proxy.Listen)
	if err != nil || u.Scheme != "http" || cmp.Or(u.Port(), "80") != port {
		return false
	}
	name, _ := os.Hostname()
	ip := net.ParseIP(host)
	everywhere := host == "" || ip != nil && ip.IsUnspecified()
	switch to := u.Hostname(); {
	case isLoopback(to):
		return everywhere || isLoopback(host)
	case everywhere:
		return strings.EqualFold(to, name) || net.ParseIP(to) != nil
	default:
		return strings.EqualFold(to, host)
	}
}

// readSmall reads a settings file; a missing one is empty.
func readSmall(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkClaude checks Claude Code's settings, which override the environment,
// those of the project before the user's. It reports nothing if Claude Code is
// not installed.
func (d *doctor) checkClaude() []finding {
	const name = "Claude Code"
	user := cmp.Or(d.env.get("CLAUDE_CONFIG_DIR"), filepath.Join(d.home, ".claude"))
	project := filepath.Join(d.here, ".claude")
	if d.home == "" || !isFolder(user) && !isFolder(project) {
		return nil
	}
	value := func(string) (string, string) { return "", "" }
	for _, path := range []string{filepath.Join(user, "settings.json"), filepath.Join(project, "settings.json"),
		filepath.Join(project, "settings.local.json")} {
		var s struct {
			Env map[string]any `json:"env"`
		}
		data, err := readSmall(path)
		if err == nil && data != nil {
			err = json.Unmarshal(data, &s)
		}
		if err != nil {
			return []finding{{name, warning, fmt.Sprintf("%s cannot be read (%v)", path, err),
				"repair it: Claude Code ignores it"}}
		}
		before := value
		value = func(key string) (string, string) {
			if v, ok := s.Env[key]; ok {
				return fmt.Sprint(v), path
			}
			return before(key)
		}
	}
	effective := func(key string) (string, string) {
		if v, where := value(key); where != "" {
			return v, where
		}
		return d.env.get(key), "the environment"
	}
	for _, cloud := range []string{"BEDROCK", "VERTEX", "FOUNDRY"} {
		if v, where := effective("CLAUDE_CODE_USE_" + cloud); isOn(v) {
			if base, set := effective("ANTHROPIC_" + cloud + "_BASE_URL"); base != "" && cloud == "BEDROCK" {
				return []finding{d.judgeBase(name, base, set+" sends its calls of Bedrock", d.baseFor("Bedrock"),
					"unset ANTHROPIC_BEDROCK_BASE_URL")}
			}
			return []finding{{name, warning,
				fmt.Sprintf("CLAUDE_CODE_USE_%s in %s sends its calls to that cloud, past the proxy", cloud, where),
				"unset it to use the proxy, or read Claude on clouds in docs/reference/protocols.md"}}
		}
	}
	base, where := effective("ANTHROPIC_BASE_URL")
	want := d.baseFor("Anthropic")
	if base == "" {
		return []finding{{name, warning, "its calls go straight to Anthropic",
			fmt.Sprintf(`to use the proxy, start it with oriel run -- claude, or set ANTHROPIC_BASE_URL to %s, in the environment or under "env" in %s`, want, filepath.Join(user, "settings.json"))}}
	}
	return []finding{d.judgeBase(name, base, where+" sends its calls", want, undoSetup("claude-code"))}
}

// checkCodex checks Codex's settings. It reports nothing if Codex is not
// installed.
func (d *doctor) checkCodex() []finding {
	const name = "Codex"
	home := cmp.Or(d.env.get("CODEX_HOME"), filepath.Join(d.home, ".codex"))
	if d.home == "" || !isFolder(home) {
		return nil
	}
	path := filepath.Join(home, "config.toml")
	data, err := readSmall(path)
	if err != nil {
		return []finding{{name, warning, err.Error(), "make it readable for this user"}}
	}
	if err := toml.Unmarshal(data, &struct{}{}); err != nil {
		line := ""
		if at := (toml.ParseError{}); errors.As(err, &at) { // the error's text may quote a key
			line = fmt.Sprintf(":%d", at.Position.Line)
		}
		return []finding{{name, warning, path + line + " is not TOML", "repair it"}}
	}
	c, want := readCodex(nil, d.env), d.baseFor("OpenAI")
	key := "openai_base_url"
	if c.provider != "" {
		key = "base_url of its provider " + c.provider
	}
	switch {
	case c.aside != "":
		return []finding{{name, warning, "its calls go past the proxy", c.aside}}
	case c.base == "":
		return []finding{{name, warning, "its calls go straight to OpenAI, whatever OPENAI_BASE_URL says",
			fmt.Sprintf("to use the proxy, start it with oriel run -- codex, or set %s to %q in %s", key, want, path)}}
	}
	return []finding{d.judgeBase(name, c.base, path+" sends its calls", want, undoSetup("codex"))}
}
