package composition

import (
	"regexp"
	"strings"
)

// memoryFile is a file of instructions that an agent sends with every request.
type memoryFile struct{ path, text string }

// Claude Code puts its memory files into a reminder before the first prompt, Codex into a
// user message of their own.
var (
	claudeHead = "# claudeMd\n"
	claudeFile = regexp.MustCompile(`(?m)^Contents of ([^\n]+?)(?: \([^\n]*\))?:\n`)
	// claudeEnds are what follows the last file.
	claudeEnds = []string{"\n# currentDate\n", "\n# gitStatus\n",
		"\n      IMPORTANT: this context may or may not be relevant", "\n</system-reminder>"}
	codexFile = regexp.MustCompile(
		`(?s)^# AGENTS\.md instructions for ([^\n]+)\n.*?<INSTRUCTIONS>\n(.*)</INSTRUCTIONS>`)
)

// memoryFiles returns the memory files in a text of role user.
func memoryFiles(s string) (files []memoryFile) {
	if m := codexFile.FindStringSubmatch(s); m != nil {
		return []memoryFile{{m[1], m[2]}}
	}
	_, list, ok := strings.Cut(s, claudeHead)
	if !ok {
		return nil
	}
	for _, end := range claudeEnds {
		if i := strings.LastIndex(list, end); i >= 0 {
			list = list[:i]
		}
	}
	heads := claudeFile.FindAllStringSubmatchIndex(list, -1)
	for i, h := range heads {
		end := len(list)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		files = append(files, memoryFile{list[h[2]:h[3]], list[h[0]:end]})
	}
	return files
}
