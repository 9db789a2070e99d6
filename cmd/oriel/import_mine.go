package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/report/replay"
	"github.com/oriel-context/oriel/internal/term"
)

// usualPlace is a file or folder in which an agent keeps its conversations. Its path may be
// a pattern of filepath.Glob.
type usualPlace struct{ agent, path string }

// usualPlaces lists where agents keep their conversations on a system, and in which order
// they are imported: what a later version of an agent keeps comes after the earlier.
func usualPlaces(system string, env func(string) string, home string) []usualPlace {
	or := func(dir string, otherwise ...string) string {
		if dir != "" {
			return dir
		}
		return filepath.Join(append([]string{home}, otherwise...)...)
	}
	data := or(env("XDG_DATA_HOME"), ".local", "share")
	config := or(env("XDG_CONFIG_HOME"), ".config")
	switch system {
	case "darwin":
		config = filepath.Join(home, "Library", "Application Support")
	case "windows":
		config = or(env("AppData"), "AppData", "Roaming")
	}
	cline := cmp.Or(env("CLINE_SESSION_DATA_DIR"),
		filepath.Join(cmp.Or(env("CLINE_DATA_DIR"), filepath.Join(or(env("CLINE_DIR"), ".cline"), "data")), "sessions"))
	gooseData := filepath.Join(data, "goose")
	if system == "windows" {
		gooseData = filepath.Join(config, "Block", "goose", "data")
	}
	places := []usualPlace{
		{"Claude Code", filepath.Join(or(env("CLAUDE_CONFIG_DIR"), ".claude"), "projects")},
		{"Codex", filepath.Join(or(env("CODEX_HOME"), ".codex"), "sessions")},
		{"Gemini CLI", filepath.Join(or(env("GEMINI_CLI_HOME")), ".gemini", "tmp")},
		{"Qwen Code", filepath.Join(home, ".qwen", "projects")},
		{"opencode", filepath.Join(data, "opencode", "storage", "session")},
		{"opencode", filepath.Join(data, "opencode", "opencode*.db")},
		{"Kilo Code", filepath.Join(data, "kilo", "kilo*.db")},
		{"Cline", cline},
		{"Copilot CLI", filepath.Join(or(env("COPILOT_HOME"), ".copilot"), "session-state")},
		{"Continue", filepath.Join(or(env("CONTINUE_GLOBAL_DIR"), ".continue"), "sessions")},
		{"Pi", filepath.Join(or(env("PI_CODING_AGENT_DIR"), ".pi", "agent"), "sessions")},
		{"Goose", filepath.Join(gooseData, "sessions", "sessions.db")},
	}
	editors := []string{filepath.Join(data, "code-server"), filepath.Join(home, ".vscode-server", "data")}
	for _, name := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"} {
		editors = append(editors, filepath.Join(config, name))
	}
	for _, dir := range editors {
		extensions := filepath.Join(dir, "User", "globalStorage")
		places = append(places,
			usualPlace{"Cline", filepath.Join(extensions, "saoudrizwan.claude-dev", "tasks")},
			usualPlace{"Roo Code", filepath.Join(extensions, "rooveterinaryinc.roo-cline", "tasks")},
			usualPlace{"Zoo Code", filepath.Join(extensions, "zoocodeorganization.zoo-code", "tasks")},
			usualPlace{"Kilo Code", filepath.Join(extensions, "kilocode.kilo-code", "tasks")})
	}
	if file := env("OPENCODE_DB"); file != "" && file != ":memory:" {
		if !filepath.IsAbs(file) {
			file = filepath.Join(data, "opencode", file)
		}
		places = append(places, usualPlace{"opencode", file})
	}
	if file := env("AIDER_CHAT_HISTORY_FILE"); file != "" {
		places = append(places, usualPlace{"aider", file})
	}
	return places
}

// nearest returns the nearest file of a name in a folder or above it, where a git repository
// begins at the latest, or "".
func nearest(dir, name string) string {
	for {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		above := filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil || above == dir {
			return ""
		}
		dir = above
	}
}

// findMine returns the paths of the usual places that hold conversations, and what it could
// not read there. It prints both.
func findMine(ctx context.Context, w io.Writer,
	o importer.Options) (found []string, unread []importer.Problem, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, nil, fmt.Errorf("--mine: %w", err)
	}
	places := usualPlaces(runtime.GOOS, os.Getenv, home)
	if dir, err := os.Getwd(); err == nil {
		if path := nearest(dir, ".aider.chat.history.md"); path != "" {
			places = append(places, usualPlace{"aider", path})
		}
		if path := nearest(dir, filepath.Join(".crush", "crush.db")); path != "" {
			places = append(places, usualPlace{"Crush", path})
		}
	}
	t := term.Table{Left: []bool{true, false, false, true}}
	seen := map[string]bool{}
	for _, p := range places {
		paths, err := filepath.Glob(p.path)
		if err != nil || len(paths) == 0 {
			paths = []string{p.path} // a name with brackets
		}
		for _, path := range paths {
			if seen[path] {
				continue
			}
			seen[path] = true
			r, err := importer.Check(ctx, []string{path}, o)
			switch {
			case err == nil:
				found = append(found, path)
				t.Row(p.agent, term.Plural(r.Files, "file", "files"), term.Bytes(r.Bytes), shortPath(path, home))
			case ctx.Err() != nil:
				return nil, nil, ctx.Err()
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			case errors.Is(err, importer.ErrNoFormat):
				if info, err := os.Stat(path); err == nil && !info.IsDir() {
					fmt.Fprintf(w, "oriel: note: %s has no known form and is left out\n", term.OneLine(path, 200))
				}
			case r.Broken > 0:
				unread = append(unread, r.Problems...)
			default:
				unread = append(unread, importer.Problem{File: path, What: reason(err)})
			}
		}
	}
	for _, p := range unread {
		fmt.Fprintf(w, "oriel: note: cannot read %s\n", term.OneLine(p.String(), maxError))
	}
	if len(found) == 0 {
		where := ""
		if len(unread) > 0 {
			where = " that can be read"
		}
		return nil, nil,
			fmt.Errorf("--mine: no agent keeps conversations in its usual place here%s: name files or folders", where)
	}
	if term.IsTerminal(w) {
		fitPaths(&t, term.Width(w))
	}
	var b bytes.Buffer
	t.Draw(&b)
	b.WriteByte('\n')
	_, err = w.Write(b.Bytes())
	return found, unread, err
}

// reason returns why a path cannot be read, without the path.
func reason(err error) string {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// fitPaths cuts the middle of the paths in the last column that are too long for a width.
func fitPaths(t *term.Table, width int) {
	last := len(t.Left) - 1
	for _, w := range t.Widths()[:last] {
		width -= w + 2
	}
	for _, row := range t.Rows {
		if path := []rune(row[last]); len(path) > width && width > 1 {
			row[last] = string(path[:width/3]) + "…" + string(path[len(path)-(width-1-width/3):])
		}
	}
}

// shortPath returns a path with ~ for the home folder, on one line.
func shortPath(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
		path = "~" + string(filepath.Separator) + rest
	}
	return term.OneLine(path, 200)
}

// mostReplayed is how many bytes of the newest files the last line of an import replays: a few
// seconds of work.
const mostReplayed = 24 << 20

// replayLine prints what the newest of the imported sessions cost and what a profile would have
// saved, if anything. An import does not fail because of it.
func replayLine(cmd *cobra.Command, paths []string, o importer.Options) {
	files, _, err := importer.Files(cmd.Context(), paths, o)
	if err != nil {
		return
	}
	slices.SortStableFunc(files, func(a, b importer.File) int { return b.Modified.Compare(a.Modified) })
	files, whole := within(files, mostReplayed)
	p := term.NewProgress(cmd.ErrOrStderr(), "replaying")
	models, err := modelTable("")
	if err != nil {
		return
	}
	r, err := replay.RunFiles(cmd.Context(), files, replay.Options{Models: models, NoRecall: true,
		Policies: []replay.Policy{{Name: "balanced"}, {Name: "thrifty"}}, Progress: p.Update})
	p.End()
	if err != nil || r.Priced == 0 || r.Paid.Cost() == 0 {
		return
	}
	a := replay.Advise(r.Total, term.Money)
	would := "no profile would have saved anything worth it"
	if a.Policy != replay.Append {
		for _, one := range r.Total {
			if one.Policy == a.Policy {
				would = fmt.Sprintf("%s would have saved %s of it", a.Policy, term.Money(r.Total[0].Cost-one.Cost))
			}
		}
	}
	which := "the newest " + term.Plural(len(r.Sessions), "session", "sessions")
	if !whole {
		which = term.Plural(len(r.Sessions), "session", "sessions") + " of the newest"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s cost %s, and %s: oriel replay --mine shows more\n", which,
		term.Money(r.Paid.Cost()), would)
}

// within returns the first of some files that have together at most so many bytes, without those that
// are too large for what is left, and whether none of these was left out before another.
func within(files []importer.File, room int64) (some []importer.File, whole bool) {
	left := false
	whole = true
	for _, f := range files {
		if f.Size > room {
			left = true
			continue
		}
		room -= f.Size
		some, whole = append(some, f), !left
	}
	return some, whole
}
