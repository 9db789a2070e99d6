package main

import (
	"regexp"
	"strings"
)

// The variables by which programs find Amazon Bedrock: that of Claude Code and of Anthropic's SDK,
// and that of AWS's SDKs.
var bedrockVariables = []string{"ANTHROPIC_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"}

// bedrockKey holds an API key of Bedrock. Without one, clients sign their calls for the host that
// they call, and AWS refuses a call that is signed for this proxy's.
const bedrockKey = "AWS_BEARER_TOKEN_BEDROCK"

// unsignedBedrock reports whether a program's calls of Bedrock are not signed: they have an API
// key, or a gateway signs them.
func unsignedBedrock(env environment) bool {
	return env.get(bedrockKey) != "" || isOn(env.get("CLAUDE_CODE_SKIP_BEDROCK_AUTH"))
}

// isOn reports whether Claude Code takes a variable for a yes.
func isOn(value string) bool { return value != "" && value != "0" && value != "false" }

var region = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// bedrockUpstream returns where a program would send its calls of Bedrock, or "" if it has no key
// for it or if no region is known.
func bedrockUpstream(name string, env environment) string {
	if !unsignedBedrock(env) {
		return ""
	}
	if base := env.first(bedrockVariables...); base != "" {
		return base
	}
	in := env.first("AWS_REGION", "AWS_DEFAULT_REGION")
	if in == "" && name == "claude" && isOn(env.get("CLAUDE_CODE_USE_BEDROCK")) {
		in = "us-east-1" // as Claude Code does
	}
	if !region.MatchString(in) {
		return ""
	}
	base := "https://bedrock-runtime." + in + ".amazonaws.com"
	if strings.HasPrefix(in, "cn-") {
		base += ".cn"
	}
	return base
}

// bedrockEnvironment returns the variable with which calls of Bedrock come to the proxy at base, if
// it has an upstream for them. AWS's SDKs are left alone: that for Python sends a key over HTTPS
// only, and that for JavaScript speaks HTTP/2 without TLS.
func bedrockEnvironment(env environment, base, upstream string) (changed []string) {
	if upstream == "" || !unsignedBedrock(env) {
		return nil
	}
	return []string{bedrockVariables[0] + "=" + base}
}
