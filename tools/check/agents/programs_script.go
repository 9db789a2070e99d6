package agents

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// scripts use frameworks and packages of vendors, each as its documentation shows.
//
//go:embed matrix
var scripts embed.FS

// writeScripts writes the scripts into the working folder of the program, with a way to the packages
// for those in JavaScript, which look for them beside or above their own file.
func (s *seat) writeScripts(install string) error {
	files, err := fs.Sub(scripts, "matrix")
	if err != nil {
		return err
	}
	if err := os.CopyFS(s.work(), files); err != nil {
		return err
	}
	if s.program.npm == "" {
		return nil
	}
	return os.Symlink(filepath.Join(placeOf(install, s.program.packages()...), "node_modules"),
		filepath.Join(s.work(), "node_modules"))
}

// driveScript runs the script of a program, which does all that there is to do.
func driveScript(s *seat, _ string) error {
	words := strings.Fields(s.program.script)
	var cmd *exec.Cmd
	if strings.HasSuffix(words[0], ".mjs") {
		cmd = s.execute(filepath.Join(s.node, "node"), words...)
	} else {
		cmd = s.execute(filepath.Join(s.bin, "python"), append([]string{"-B"}, words...)...)
	}
	cmd.Env = append(cmd.Env, "BASE="+s.base, "TASK="+task, "QUESTION="+question, "ANOTHER="+another,
		fmt.Sprintf("PARTS=%d", s.program.parts),
		"OPENAI_API_KEY=sk-none", "ANTHROPIC_API_KEY=sk-none", "GEMINI_API_KEY=none", "GOOGLE_API_KEY=none",
		"LITELLM_LOCAL_MODEL_COST_MAP=True", "OTEL_SDK_DISABLED=true", "DO_NOT_TRACK=1",
		"OPENAI_AGENTS_DISABLE_TRACING=1", "CREWAI_DISABLE_TELEMETRY=true", "CREWAI_TRACING_ENABLED=false",
		"HAYSTACK_TELEMETRY_ENABLED=False", "MASTRA_TELEMETRY_DISABLED=1", "AGNO_TELEMETRY=false",
		"HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost")
	return s.run(cmd)
}
