package main

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/term"
)

// groups are the commands in the order of the help. A command that is in none of them is
// listed at the end.
var groups = []struct {
	id, title string
	commands  []string
}{
	{"use", "Use it:", []string{"replay", "run", "serve", "demo", "mcp", "setup", "service"}},
	{"look", "Look:", []string{"console", "conversations", "show", "recall", "usage", "context", "top", "statusline",
		"directives"}},
	{"steer", "Steer:", []string{"pin", "unpin", "undo", "release", "private"}},
	{"keep", "Keep the history:", []string{"import", "export", "backup", "copy", "verify", "stats", "prune", "delete"}},
	{"body", "Request bodies, models and texts:", []string{"count", "fit", "models", "embed", "eval"}},
	{"set", "Set up:", []string{"config", "tune", "doctor", "token", "completion", "man", "version", "help"}},
}

// group puts the commands of root into groups.
func group(root *cobra.Command) {
	of := map[string]string{}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range g.commands {
			of[name] = g.id
		}
	}
	for _, c := range root.Commands() {
		c.GroupID = of[c.Name()]
	}
	root.SetHelpCommandGroupID(of["help"])
}

// wrapHelp makes the help of all commands fit the terminal. Elsewhere it stays as it is.
func wrapHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		sc := term.ScreenOf(out)
		if sc.Width == 0 {
			help(cmd, args)
			return
		}
		var b bytes.Buffer
		cmd.SetOut(&b)
		help(cmd, args)
		cmd.SetOut(out)
		for _, line := range fitHelp(b.String(), sc.Width) {
			line += "\n"
			if _, err := out.Write([]byte(line)); err != nil {
				return // the sink of the output knows it
			}
		}
	})
}

// listed matches a line of a list in the help: a flag, a command or another word, and its
// description.
var listed = regexp.MustCompile(`^( *(?:\S+ )*\S+ {2,}|  [a-z]+ +)\S`)

// fitHelp fits a help text into width columns. It joins the lines of a paragraph, and those
// of a description, before it breaks them anew.
func fitHelp(text string, width int) (out []string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for len(lines) > 0 {
		n, hang := 1, len(lines[0])-len(strings.TrimLeft(lines[0], " "))
		if m := listed.FindStringSubmatch(lines[0]); m != nil {
			hang = len(m[1])
			n += leading(lines[1:], func(line string) bool {
				return len(line) > hang && strings.TrimLeft(line[:hang], " ") == "" && line[hang] != ' '
			})
		} else if isProse(lines[0]) && !strings.HasSuffix(lines[0], ":") {
			n += leading(lines[1:], isProse)
		}
		if widest(lines[:n]) <= width {
			out = append(out, lines[:n]...)
		} else {
			if hang > width/2 {
				hang = 8
			}
			line := lines[0]
			for _, more := range lines[1:n] {
				line += " " + strings.TrimLeft(more, " ")
			}
			out = append(out, term.Wrap(line, width, hang)...)
		}
		lines = lines[n:]
	}
	return out
}

// leading returns how many of the first lines are of a kind.
func leading(lines []string, is func(string) bool) int {
	for i, line := range lines {
		if !is(line) {
			return i
		}
	}
	return len(lines)
}

// isProse reports whether a line is part of a paragraph, not of a list or an example.
func isProse(line string) bool {
	return line != "" && line[0] != ' ' && !listed.MatchString(line)
}
