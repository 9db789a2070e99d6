// Command check runs checks that take long or need what the tests do without:
// recorded sessions, Oriel as a process, agents and packages of others.
//
//	./scripts/check VERB ARGUMENT…
//	./scripts/check VERB -h
//
// The verbs are packages beside this file. Those that use Oriel do so on
// loopback and in temporary folders. The exit code is 1 if a check failed, 2
// if it could not be made.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/oriel-context/oriel/tools/check/agents"
	"github.com/oriel-context/oriel/tools/check/api"
	"github.com/oriel-context/oriel/tools/check/attack"
	"github.com/oriel-context/oriel/tools/check/cache"
	"github.com/oriel-context/oriel/tools/check/earlier"
	"github.com/oriel-context/oriel/tools/check/embed"
	"github.com/oriel-context/oriel/tools/check/figures"
	"github.com/oriel-context/oriel/tools/check/fit"
	"github.com/oriel-context/oriel/tools/check/histories"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/tools/check/mcp"
	"github.com/oriel-context/oriel/tools/check/proxy"
	"github.com/oriel-context/oriel/tools/check/recall"
	"github.com/oriel-context/oriel/tools/check/replicas"
	"github.com/oriel-context/oriel/tools/check/run"
	"github.com/oriel-context/oriel/tools/check/sdks"
	"github.com/oriel-context/oriel/tools/check/usage"
	"github.com/oriel-context/oriel/tools/check/view"
)

var verbs = []struct {
	name, about string
	check       func(args []string) error
}{
	{"api", "the JSON API against its description, with schemathesis", api.Check},
	{"attack", "attacks on a server: attack list prints them", attack.Check},
	{"histories", "byte identity and legal cuts of recorded sessions", histories.Check},
	{"fit", "recorded sessions fitted to several budgets with every policy", fit.Check},
	{"view", "price and validity of the sticky view of recorded sessions", view.Check},
	{"proxy", "recorded sessions through the proxy", proxy.Check},
	{"earlier", "first calls that recall from earlier conversations of a project", earlier.Check},
	{"embed", "the built-in embedding model against ONNX Runtime", embed.Check},
	{"agents", "Claude Code, Codex and other agents through the proxy", agents.Check},
	{"recall", "the search of a large scope in PostgreSQL against that in memory", recall.Check},
	{"replicas", "several servers on one PostgreSQL against one server, and faults", replicas.Check},
	{"cache", "why recorded sessions were not read from the cache: the share with a reason", cache.Check},
	{"run", "Claude Code and Codex under oriel run", run.Check},
	{"mcp", "the MCP server with the MCP inspector, Claude Code and Codex", mcp.Check},
	{"sdks", "the vendors' packages through the proxy", sdks.Check},
	{"usage", "the sums of oriel usage against those of a provider", usage.Check},
	{"figures", "one history: every screen that shows a sum against the others and an own one", figures.Check},
	{"docs", "every block of the documents, with the vendors' packages", sdks.CheckDocs},
}

func main() {
	if len(os.Args) > 1 {
		for _, v := range verbs {
			if v.name == os.Args[1] {
				os.Exit(code(v.name, v.check(os.Args[2:])))
			}
		}
	}
	fmt.Fprintln(os.Stderr, "check: name a verb:")
	for _, v := range verbs {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", v.name, v.about)
	}
	os.Exit(2)
}

// code prints an error and returns the exit code.
func code(verb string, err error) int {
	if err == nil {
		return 0
	}
	if !errors.Is(err, kit.ErrFailed) {
		fmt.Fprintf(os.Stderr, "check %s: %v\n", verb, err)
		return 2
	}
	if err != kit.ErrFailed { // a bare ErrFailed was explained already
		fmt.Fprintf(os.Stderr, "check %s: %v\n", verb, err)
	}
	return 1
}
