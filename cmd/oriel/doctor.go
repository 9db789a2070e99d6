package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/term"
)

func doctorCommand() *cobra.Command {
	var asJSON, health bool
	cmd := &cobra.Command{
		Use:        "doctor",
		SuggestFor: []string{"check", "health"},
		Short:      "Check the installation",
		Long: `Check what Oriel needs and how agents are configured: settings, data folder, history,
disk, port, providers, proxy variables, clock, kernels, memory, open files, the age of
prices, base URLs, Claude Code and Codex. Each check prints a line with ok, warning or FAILED, what was
found, and what to do about it. The flags are those of oriel serve.

Each provider gets one request without a key. A provider that cannot be reached is a
warning, because everything else works offline. doctor changes nothing and prints no key.
It exits with 1 if a check has FAILED.

--health checks only that a server answers at the address of --listen, as containers and
service managers ask again and again. A server whose history fails is a warning, because
its calls go through.`,
		Example: `  oriel doctor
  oriel doctor --json
  oriel doctor --health --listen 127.0.0.1:9000
  oriel doctor --listen 127.0.0.1:9000 --upstream-openai http://localhost:11434/v1`,
		Args: noArguments,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&health, "health", false, "only check that a server is running")
	flags := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		home, _ := os.UserHomeDir() // if it is empty, there are no agents' files
		here, _ := os.Getwd()
		d := doctor{env: os.Environ(), home: home, here: here, now: time.Now, build: thisBuild(), listens: listens}
		sources, err := flags.sources()
		if err != nil {
			return err
		}
		if health {
			loaded, err := loadSettings(sources)
			if err != nil {
				return err
			}
			d.setup = newSetup(loaded.Settings)
			return tellFindings(cmd, []finding{d.checkHealth(cmd.Context())}, asJSON)
		}
		var settings finding
		d.setup, settings = examineSettings(sources)
		return tellFindings(cmd, append([]finding{settings}, d.examine(cmd.Context())...), asJSON)
	}
	return cmd
}

// status of a check.
type status string

const (
	fine    status = "ok"
	warning status = "warning"
	failed  status = "failed"
)

// finding is the result of a check.
type finding struct {
	Check  string `json:"check"`
	Status status `json:"status"`
	Found  string `json:"found"`
	// Advice is what to do.
	Advice string `json:"advice,omitempty"`
}

// doctor holds what the checks examine.
type doctor struct {
	setup
	env        environment
	home, here string
	now        func() time.Time
	build      buildInfo
	listens    func(ctx context.Context, at string) bool
}

// examine runs all checks; those that use the network run in parallel with the
// rest.
func (d *doctor) examine(ctx context.Context) []finding {
	upstreams := []struct{ name, url string }{{"OpenAI", d.proxy.OpenAI}, {"Anthropic", d.proxy.Anthropic}}
	// Most people use neither; an Ollama that is not installed is nothing to report.
	for _, u := range []struct{ name, url, usual string }{{"Gemini", d.proxy.Gemini, proxy.DefaultGemini},
		{"Ollama", d.proxy.Ollama, proxy.DefaultOllama}, {"ChatGPT", d.proxy.ChatGPT, proxy.DefaultChatGPT},
		{"Bedrock", d.proxy.Bedrock, ""}} {
		if u.url != "" && u.url != u.usual {
			upstreams = append(upstreams, struct{ name, url string }{u.name, u.url})
		}
	}
	if d.condense != "" {
		upstreams = append(upstreams, struct{ name, url string }{"summaries", d.condense})
	}
	if d.embed != "" {
		upstreams = append(upstreams, struct{ name, url string }{"vectors", d.embed})
	}
	reached := make([]reach, len(upstreams))
	var asked sync.WaitGroup
	for i, u := range upstreams {
		asked.Go(func() { reached[i] = d.reach(ctx, u.name, u.url) })
	}
	findings := d.checkFolder()
	findings = append(findings, d.checkStore(ctx), d.checkDisk(), d.checkPort(ctx))
	asked.Wait()
	for _, r := range reached {
		findings = append(findings, r.finding)
	}
	findings = append(findings, d.checkVariables(), d.checkProxyVariables(), d.checkClock(reached), d.checkKernels(),
		checkMemory(), checkFiles(), d.checkPrices())
	return append(findings, d.checkAgents()...)
}

// tellFindings prints the findings, and returns a failure if a check has
// failed.
func tellFindings(cmd *cobra.Command, findings []finding, asJSON bool) error {
	bad := 0
	for i := range findings {
		f := &findings[i]
		f.Found, f.Advice = strings.Join(strings.Fields(f.Found), " "), strings.Join(strings.Fields(f.Advice), " ")
		if f.Status == failed {
			bad++
		}
	}
	out := cmd.OutOrStdout()
	if asJSON {
		if err := printJSON(out, struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{bad == 0, findings}); err != nil {
			return err
		}
	} else {
		var b bytes.Buffer
		t := term.Table{Left: []bool{true, true, true}}
		for _, f := range findings {
			text := f.Found
			if f.Advice != "" {
				text += ": " + f.Advice
			}
			t.Row(map[status]string{fine: "ok", warning: "warning", failed: "FAILED"}[f.Status], f.Check, text)
		}
		if sc := term.ScreenOf(out); sc.Width > 0 {
			t.DrawWrapped(&b, sc.Width)
		} else {
			t.Draw(&b)
		}
		if _, err := out.Write(b.Bytes()); err != nil {
			return err
		}
	}
	if bad > 0 {
		return &failure{fmt.Errorf("%s: the lines with FAILED say what to do",
			term.Plural(bad, "check has failed", "checks have failed"))}
	}
	return nil
}
