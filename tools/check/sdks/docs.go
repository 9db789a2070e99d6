package sdks

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/oriel-context/oriel/tools/check/kit"
)

// CheckDocs runs every block of README.md and docs, including those in Python
// and JavaScript, with the packages of the vendors and of the frameworks that
// the recipes run.
func CheckDocs(args []string) error {
	if rest := kit.Parse(kit.Flags("docs"), args); len(rest) > 0 {
		return fmt.Errorf("%q: docs takes no arguments", rest[0])
	}
	s, err := kit.InstallSDKs("oriel-check-docs", "openai", "anthropic", "langchain-openai", "langchain-anthropic",
		"langchain", "openai-agents", "pydantic-ai-slim", "dspy")
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-count=1", "-v", "./snippets")
	cmd.Dir, cmd.Stderr = filepath.Join(kit.Source(), "tools"), os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "ORIEL_DOCS_SDKS="+s.Dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "===") {
			fmt.Println(lines.Text())
		}
	}
	if cmd.Wait() != nil {
		return kit.ErrFailed
	}
	return nil
}
