package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// contender is a way from the client to the model.
type contender struct {
	name string
	// command returns the program that listens at a port, or is nil if there
	// is none.
	command func(port int, upstream, data string) (env, args []string, err error)
	prefix  map[bool]string
	bypass  bool
	rival   bool

	*client
	*process
	start time.Duration // from the start of the program to its first answer
	down  string        // why it is not measured
}

func contenders(folder string) []*contender {
	oriel := served(folder, "oriel", "off")
	return []*contender{
		{name: "direct"},
		{name: "ReverseProxy", command: reverseProxy},
		{name: "Oriel, bypass", command: oriel, bypass: true},
		{name: "Oriel", command: oriel},
		{name: "Bifrost", command: bifrost(folder), prefix: map[bool]string{true: "/anthropic", false: "/openai"},
			rival: true},
		{name: "LiteLLM", command: litellm(folder), rival: true},
		{name: "Headroom, --no-optimize", command: headroom(folder, "--no-optimize"), rival: true},
		{name: "Headroom", command: headroom(folder), rival: true},
	}
}

// reverseProxy returns the command of the simplest proxy in Go.
func reverseProxy(port int, upstream, _ string) ([]string, []string, error) {
	return nil, []string{os.Args[0], "floor", fmt.Sprintf("127.0.0.1:%d", port), upstream}, nil
}

// served returns the command of an oriel in the folder.
func served(folder, name, profile string) func(int, string, string) ([]string, []string, error) {
	return func(port int, upstream, data string) ([]string, []string, error) {
		args := serve(filepath.Join(folder, name), port, upstream, data)
		return nil, append(args, "--profile", profile), nil
	}
}

// versions returns Oriel and an earlier version, with the profiles off and
// full, and ReverseProxy.
func versions(folder string) []*contender {
	return []*contender{
		{name: "off, before", command: served(folder, "oriel-before", "off")},
		{name: "off", command: served(folder, "oriel", "off")},
		{name: "full, before", command: served(folder, "oriel-before", "full")},
		{name: "full", command: served(folder, "oriel", "full")},
		{name: "ReverseProxy", command: reverseProxy},
	}
}

func serve(oriel string, port int, upstream, data string) []string {
	return []string{oriel, "serve", "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--data", data, "--profile", "off",
		"--upstream-openai", upstream + "/v1", "--upstream-anthropic", upstream}
}

func installed(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("it could not be installed: %w", err)
	}
	return nil
}

func litellm(folder string) func(int, string, string) ([]string, []string, error) {
	return func(port int, upstream, data string) ([]string, []string, error) {
		program := filepath.Join(folder, "litellm/bin/litellm")
		if err := installed(program); err != nil {
			return nil, nil, err
		}
		config := filepath.Join(data, "config.yaml")
		text := fmt.Sprintf(`model_list:
  - model_name: gpt-4o
    litellm_params: {model: openai/gpt-4o, api_base: "%[1]s/v1", api_key: sk-bench}
  - model_name: claude-sonnet-4-5
    litellm_params: {model: anthropic/claude-sonnet-4-5, api_base: "%[1]s", api_key: sk-bench}
`, upstream)
		return []string{"LITELLM_LOCAL_MODEL_COST_MAP=True", "LITELLM_LOG=ERROR",
				"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true"},
			[]string{program, "--config", config, "--host", "127.0.0.1", "--port", fmt.Sprint(port), "--telemetry",
				"False"}, os.WriteFile(config, []byte(text), 0o644)
	}
}

// headroom returns the command of headroom, which passes 60 calls a minute by
// default.
func headroom(folder string, more ...string) func(int, string, string) ([]string, []string, error) {
	return func(port int, upstream, data string) ([]string, []string, error) {
		program := filepath.Join(folder, "headroom/bin/headroom")
		return []string{"OPENAI_TARGET_API_URL=" + upstream, "ANTHROPIC_TARGET_API_URL=" + upstream, "HOME=" + data,
				"HEADROOM_TELEMETRY=off"},
			append([]string{program, "proxy", "--host", "127.0.0.1", "--port", fmt.Sprint(port), "--no-rate-limit"},
				more...), installed(program)
	}
}

// bifrost returns the command of bifrost, a script that fetches the program on
// first start.
func bifrost(folder string) func(int, string, string) ([]string, []string, error) {
	return func(port int, upstream, data string) ([]string, []string, error) {
		program := filepath.Join(folder, "bifrost/node_modules/.bin/bifrost")
		if err := installed(program); err != nil {
			return nil, nil, err
		}
		provider := fmt.Sprintf(`{"keys":[{"name":"k","value":"sk-bench","models":["*"],"weight":1}],"network_config":{"base_url":%q,"allow_private_network":true}}`, upstream)
		text := fmt.Sprintf(`{"client":{"enable_logging":false},"providers":{"openai":%[1]s,"anthropic":%[1]s}}`,
			provider)
		return nil, []string{program, "-host", "127.0.0.1", "-port", fmt.Sprint(port), "-app-dir", data, "-log-level",
				"error"},
			os.WriteFile(filepath.Join(data, "config.json"), []byte(text), 0o644)
	}
}

// launch starts the program with a new data folder.
func (c *contender) launch(upstream, folder string) error {
	if c.command == nil {
		c.client = newClient(upstream)
		return nil
	}
	data, err := os.MkdirTemp(folder, "data-")
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	env, args, err := c.command(port, upstream, data)
	if err != nil {
		return err
	}
	c.client = newClient(fmt.Sprintf("http://127.0.0.1:%d", port))
	c.client.prefix, c.client.bypass = c.prefix, c.bypass
	began := time.Now()
	if c.process, err = startProcess(filepath.Join(data, "log"), env, args...); err != nil {
		return err
	}
	patience := 10 * time.Second
	if c.rival {
		patience = 3 * time.Minute
	}
	if err := c.ready(c.client, patience); err != nil {
		return err
	}
	c.start = time.Since(began)
	return nil
}
