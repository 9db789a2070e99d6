package agents

import (
	"fmt"
	"os"
	"path/filepath"
)

// write writes a file below the program's home, or its working folder.
func write(folder, name, text string) error {
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// keys are those of all vendors.
var keys = []string{"OPENAI_API_KEY=sk-none", "ANTHROPIC_API_KEY=sk-ant-none", "GEMINI_API_KEY=none"}

func driveOpencode(model string) func(s *seat, do string) error {
	return func(s *seat, do string) error { return opencodeDoes(s, do, model, "opencode.json") }
}

func driveKilo(s *seat, do string) error {
	return opencodeDoes(s, do, "anthropic/claude-sonnet-4-5", "kilo.json")
}

func opencodeDoes(s *seat, do, model, config string) error {
	settings := fmt.Sprintf(`{"permission":"allow","provider":{"anthropic":{"options":{"baseURL":"%s/v1"}},"openai":{"options":{"baseURL":"%[1]s/v1"}}}}`, s.base)
	if err := write(s.work(), config, settings); err != nil {
		return err
	}
	cmd := s.command("run", "-m", model)
	if do == ask {
		cmd.Args = append(cmd.Args, "-c")
	}
	cmd.Args = append(cmd.Args, prompts[do])
	cmd.Env = append(cmd.Env, keys...)
	return s.run(cmd)
}

func drivePi(model string) func(s *seat, do string) error {
	return func(s *seat, do string) error {
		settings := fmt.Sprintf(`{"providers":{"openai":{"baseUrl":"%s/v1"},"anthropic":{"baseUrl":"%[1]s"}}}`, s.base)
		if err := write(s.home(), ".pi/agent/models.json", settings); err != nil {
			return err
		}
		cmd := s.command("--model", model)
		if do == ask {
			cmd.Args = append(cmd.Args, "-c")
		}
		cmd.Args = append(cmd.Args, "-p", prompts[do])
		cmd.Env = append(append(cmd.Env, keys...), "PI_OFFLINE=1", "PI_TELEMETRY=0")
		return s.run(cmd)
	}
}

func driveGemini(s *seat, do string) error {
	const settings = `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},` +
		`"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`
	if err := write(s.home(), ".gemini/settings.json", settings); err != nil {
		return err
	}
	cmd := s.command("-y", "-m", "gemini-2.5-pro")
	if do == ask {
		cmd.Args = append(cmd.Args, "--resume", "latest")
	}
	cmd.Args = append(cmd.Args, "-p", prompts[do])
	cmd.Env = append(append(cmd.Env, keys...), "GOOGLE_GEMINI_BASE_URL="+s.base, "GEMINI_CLI_TRUST_WORKSPACE=true")
	return s.run(cmd)
}

func driveGrok(s *seat, do string) error {
	cmd := s.command("-p", prompts[do])
	cmd.Env = append(cmd.Env, "GROK_API_KEY=none", "GROK_BASE_URL="+s.base+"/v1", "GROK_MODEL=grok-code-fast-1")
	return s.run(cmd)
}

func driveMini(s *seat, do string) error {
	// It takes its default, whose path has an equals sign, for a setting.
	cmd := s.command("-c", "mini.yaml", "-m", "openai/gpt-4o", "-t", prompts[do], "-y", "--exit-immediately", "-l", "0", "-o",
		filepath.Join(s.dir, "trajectory-"+do+".json"))
	cmd.Env = append(append(cmd.Env, keys...), "OPENAI_API_BASE="+s.base+"/v1", "MSWEA_CONFIGURED=true",
		"MSWEA_COST_TRACKING=ignore_errors", "MSWEA_SILENT_STARTUP=1", "LITELLM_LOCAL_MODEL_COST_MAP=True")
	return s.run(cmd)
}
