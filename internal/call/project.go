package call

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/timeline"
)

// toldFolder matches the line in which an agent names its working folder: Claude Code in
// its system prompt, Codex in a message of its own.
var toldFolder = regexp.MustCompile(
	`(?m)^[ \t]*(?:<cwd>|-?[ \t]*(?:Primary )?[Ww]orking directory: )((?:/|[A-Za-z]:[\\/])[^\r\n<]*)`)

// maxFolderMessages is the number of first messages that are searched for the folder.
const maxFolderMessages = 4

// project returns the project of a new conversation: that of the engine, or the folder
// that the agent names, or "". It does not read what people wrote.
func (c *Call) project() string {
	project := c.engine.o.Project
	for i := 0; project == "" && i < len(c.body.System); i++ {
		project = folderIn(&c.body.System[i])
	}
	for i := 0; project == "" && i < min(maxFolderMessages, len(c.body.Messages)); i++ {
		m := &c.body.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			own := m.Role == chat.System || m.Role == chat.Developer ||
				m.Role == chat.User && strings.HasPrefix(p.Text.String(), "<environment_context>")
			if own {
				project = cmp.Or(project, folderIn(p))
			}
		}
	}
	return project
}

// recallProject returns the project that the first call of a conversation recalls from. A
// request without tools that names no folder, such as that for a title, has none.
func (c *Call) recallProject() string {
	if project := c.project(); len(c.body.Tools) > 0 || project != c.engine.o.Project {
		return project
	}
	return ""
}

func folderIn(p *chat.Part) string {
	if p.Kind != chat.Text {
		return ""
	}
	m := toldFolder.FindStringSubmatch(p.Text.String())
	if m == nil {
		return ""
	}
	if folder := strings.TrimSpace(m[1]); len(folder) <= timeline.MaxName && fault.CheckID(folder) == nil {
		return folder
	}
	return ""
}
