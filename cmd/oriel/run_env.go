package main

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
)

// The variables by which programs find their provider. SDKs read the first of
// each; LiteLLM, which aider uses, and LangChain read the second.
var (
	openAIVariables    = []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}
	anthropicVariables = []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"}
	geminiVariables    = []string{"GOOGLE_GEMINI_BASE_URL"}
	ollamaVariables    = []string{"OLLAMA_HOST"}
	// Goose reads these before the others, without /v1.
	gooseOpenAI, gooseAnthropic = "OPENAI_HOST", "ANTHROPIC_HOST"
)

// xAI is where the program grok calls its models.
const xAI = "https://api.x.ai/v1"

// ownAddress returns where a program with variables of its own would send its calls, "" for
// none: those of OpenAI's API and those of Anthropic's.
func ownAddress(name string, env environment) (openAI, anthropic string) {
	switch name {
	case "goose":
		if openAI = strings.TrimRight(env.get(gooseOpenAI), "/"); openAI != "" {
			openAI += "/v1"
		}
		return openAI, env.get(gooseAnthropic)
	case "grok":
		return cmp.Or(env.get("GROK_BASE_URL"), xAI), ""
	case "copilot":
		if at := env.get(copilotBase); env.get(copilotType) == "anthropic" {
			return "", at
		} else if env.get(copilotType) != "azure" {
			return at, ""
		}
	}
	return "", ""
}

// Copilot CLI calls the models of a subscription, or with these variables those of a vendor.
const copilotBase, copilotType = "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE"

// ownVariables returns the variables that only one program reads.
func ownVariables(name string, env environment, base string) (changed []string) {
	switch name {
	case "goose":
		return []string{gooseOpenAI + "=" + base, gooseAnthropic + "=" + base}
	case "grok":
		return []string{"GROK_BASE_URL=" + base + "/v1"}
	case "copilot":
		switch {
		case env.first(copilotBase, "COPILOT_PROVIDER_API_KEY") == "" || env.get(copilotType) == "azure":
			return nil // a subscription, or an API with other paths
		case env.get(copilotType) == "anthropic":
			return []string{copilotBase + "=" + base}
		}
		return []string{copilotBase + "=" + base + "/v1"}
	}
	return nil
}

// environment is a list of NAME=VALUE; the last one with a name counts.
type environment []string

// with returns the environment with some variables changed and no name twice:
// programs differ in which of two they use.
func (e environment) with(changed []string) []string {
	out := slices.DeleteFunc(slices.Clone(e), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(changed, func(c string) bool { return strings.HasPrefix(c, name+"=") })
	})
	return append(out, changed...)
}

// withoutSecrets returns the environment without Oriel's own tokens and keys,
// which a program that Oriel runs does not need.
func (e environment) withoutSecrets() environment {
	return slices.DeleteFunc(slices.Clone(e), func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		return settings.HoldsSecret(name, value)
	})
}

func (e environment) get(name string) string {
	for _, v := range slices.Backward(e) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// first returns the first non-empty value of the named variables.
func (e environment) first(names ...string) string {
	for _, n := range names {
		if v := e.get(n); v != "" {
			return v
		}
	}
	return ""
}

// childEnvironment returns the variables that a child needs besides its own to
// call the proxy at base, in order.
func childEnvironment(env environment, base, anthropicUpstream string) (changed []string) {
	for _, name := range openAIVariables {
		changed = append(changed, name+"="+base+"/v1")
	}
	for _, name := range slices.Concat(anthropicVariables, geminiVariables, ollamaVariables) {
		changed = append(changed, name+"="+base)
	}
	// Claude Code does not search for tools but sends all of them if the host
	// is not Anthropic's. Through this proxy it is.
	if env.get("ENABLE_TOOL_SEARCH") == "" && strings.TrimRight(anthropicUpstream, "/") == proxy.DefaultAnthropic {
		changed = append(changed, "ENABLE_TOOL_SEARCH=true")
	}
	return append(changed, withoutProxy(env)...)
}

// withoutProxy keeps calls to this machine away from an HTTP proxy, if there
// is one.
func withoutProxy(env environment) (changed []string) {
	if env.first("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy") == "" {
		return nil
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		hosts := env.first(name, "NO_PROXY", "no_proxy")
		if hosts == "*" {
			continue
		}
		if hosts != "" {
			hosts += ","
		}
		changed = append(changed, name+"="+hosts+"127.0.0.1,localhost")
	}
	return changed
}

// portOf returns the port of a URL on this machine, or "" for any other.
func portOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()) {
		return ""
	}
	return u.Port()
}

// ollamaURL returns the base URL that a value of OLLAMA_HOST means to Ollama's clients, or "":
// a host, a host with a port, or a URL. A server that listens at all addresses is called at this
// machine's own.
func ollamaURL(host string) string {
	host = strings.TrimSpace(host)
	if host == "" {
		return ""
	}
	port := map[string]string{"http": "80", "https": "443"}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest, port["http"] = "http", host, "11434"
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Host == "" && !strings.HasPrefix(rest, ":") {
		return ""
	}
	name := u.Hostname()
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	return u.Scheme + "://" + net.JoinHostPort(name, cmp.Or(u.Port(), port[u.Scheme])) + strings.TrimRight(u.Path, "/")
}
