package condense

import (
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// Kinds of main arguments.
const (
	ArgPath    = "path"
	ArgCommand = "command"
	ArgQuery   = "query"
	ArgURL     = "url"
)

// Names of arguments, by what they mean, in the order in which they are tried.
// Tools differ in their names far more than in the shape of their arguments.
var (
	commandKeys = []string{"command", "cmd", "commands", "script", "shell_command", "bash_command"}
	pathKeys    = []string{"file_path", "path", "filename", "file", "filepath", "filePath", "target_file",
		"notebook_path", "absolute_path", "relative_path", "relative_workspace_path", "file_name", "fileName",
		"abs_path", "uri", "AbsolutePath", "TargetFile", "directory", "dir_path", "DirectoryPath"}
	queryKeys = []string{"pattern", "query", "regex", "search_query", "q", "search_term", "search", "queries",
		"Query", "glob", "glob_pattern"}
	urlKeys = []string{"url", "urls", "href", "link", "Url"}
	// titleKeys describe a call that has none of the others.
	titleKeys = []string{"title", "subject", "description", "task", "name", "prompt", "message", "question", "skill",
		"expression"}
	// changeKeys hold new content: a call that has one of them and a path writes.
	changeKeys = []string{"old_string", "new_string", "old_str", "new_str", "content", "contents", "file_text", "diff",
		"patch", "new_source", "edits", "code_edit", "insert_text", "insert_line", "replacement", "new_content", "text",
		"CodeContent", "oldString", "newString", "changes"}
)

// MainArgument returns the most informative argument of a call: the path of a
// Read, the command of a Bash. kind is "path", "command", "query", "url", or ""
// for none of these; value is then a short argument that describes the call, or
// "". The tool is recognised by the shape of its arguments; its name decides only
// if they are ambiguous. args is the JSON text of the arguments
// (chat.Part.Arguments); text that is not JSON is read as a patch or as a bare
// command.
//
// value is one line, not shortened.
func MainArgument(name, args string) (kind, value string) {
	a := readArguments(name, args)
	return a.kind, a.value
}

// arguments holds the interpreted arguments of a call.
type arguments struct {
	kind, value string
	// paths are the files that a call reads or changes; most have one.
	paths []string
	// changes reports that the call writes to its paths.
	changes bool
	// todo lists the open steps of an agent's own list.
	todo    []string
	hasTodo bool
}

func readArguments(name, args string) arguments {
	args = strings.TrimSpace(args)
	if args == "" {
		return arguments{}
	}
	doc, err := rawjson.Parse([]byte(args), rawjson.Limits{})
	if err != nil || doc.Root().Kind() != rawjson.Object {
		return bareArguments(name, args)
	}
	root := doc.Root()
	for _, inner := range [...]string{"action", "input", "arguments", "parameters"} {
		if v := root.Get(inner); v.Kind() == rawjson.Object && v.Len() > 0 {
			root = v
			break
		}
	}
	a := arguments{}
	path := first(root, pathKeys)
	command := first(root, commandKeys)
	if patch := first(root, []string{"patch", "input", "diff", "patchText"}); strings.Contains(patch, "*** ") ||
		strings.Contains(patch, "\n+++ ") {
		a.paths = patchPaths(patch)
	}
	if command != "" && strings.Contains(command, "*** Begin Patch") {
		a.paths = patchPaths(command)
	}
	switch query := first(root, queryKeys); {
	case len(a.paths) > 0 && path == "":
		a.kind, a.value, a.changes = ArgPath, a.paths[0], true
	case command != "" && (path == "" || strings.ContainsAny(strings.TrimSpace(command), " \n")):
		a.kind, a.value = ArgCommand, command
	case path != "" && command != "": // an editor whose command is one word
		a.kind, a.value, a.changes = ArgPath, path, command != "view" && command != "read" && command != "open" &&
			command != "list"
	case path != "" && (query == "" || writes(name, root)):
		a.kind, a.value, a.changes = ArgPath, path, writes(name, root)
	case query != "":
		a.kind, a.value = ArgQuery, query
	default:
		if url := first(root, urlKeys); url != "" {
			a.kind, a.value = ArgURL, url
		} else {
			a.value = describe(root)
			a.todo, a.hasTodo = steps(root)
		}
	}
	if a.kind == ArgPath && len(a.paths) == 0 {
		a.paths = []string{oneLine(a.value)}
	}
	a.value = oneLine(a.value)
	return a
}

// bareArguments reads the input of a tool that accepts plain text.
func bareArguments(name, args string) arguments {
	if paths := patchPaths(args); len(paths) > 0 {
		return arguments{kind: ArgPath, value: paths[0], paths: paths, changes: true}
	}
	switch lower := strings.ToLower(name); {
	case strings.Contains(lower, "shell"), strings.Contains(lower, "bash"), strings.Contains(lower, "exec"),
		strings.Contains(lower, "terminal"):
		return arguments{kind: ArgCommand, value: oneLine(args)}
	}
	line, _, _ := strings.Cut(args, "\n")
	if len(line) > 200 || strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") {
		return arguments{}
	}
	return arguments{value: oneLine(line)}
}

// first returns the value of the first key that has a text, or a list of texts.
func first(root rawjson.Value, keys []string) string {
	for _, k := range keys {
		switch v := root.Get(k); v.Kind() {
		case rawjson.String:
			if s := v.Str(); strings.TrimSpace(s) != "" {
				return s
			}
		case rawjson.Array:
			if s := joined(v); strings.TrimSpace(s) != "" {
				return s
			}
		}
	}
	return ""
}

// joined returns a command given as a list of words as one line. It omits a shell
// that only runs a script: ["bash", "-lc", "go test"] is "go test".
func joined(list rawjson.Value) string {
	var words []string
	for v := range list.Elems() {
		if v.Kind() != rawjson.String {
			return ""
		}
		words = append(words, v.Str())
	}
	if n := len(words); n == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
		switch words[0][strings.LastIndexByte(words[0], '/')+1:] {
		case "bash", "sh", "zsh", "dash":
			return words[2]
		}
	}
	return strings.Join(words, " ")
}

// changeNames are parts of the names of tools that write.
var changeNames = []string{"edit", "write", "create", "replace", "patch", "insert", "update", "append", "delete",
	"remove", "rename", "move", "save", "apply_diff"}

// writes reports whether a call with a path changes the file.
func writes(name string, root rawjson.Value) bool {
	lower := strings.ToLower(name)
	if strings.Contains(lower, "read") || strings.Contains(lower, "view") || strings.Contains(lower, "search") ||
		strings.Contains(lower, "grep") {
		return false
	}
	for _, n := range changeNames {
		if strings.Contains(lower, n) {
			return true
		}
	}
	for _, k := range changeKeys {
		if root.Has(k) {
			return true
		}
	}
	return false
}

// describe returns a short text for a call without a known main argument.
func describe(root rawjson.Value) string {
	if s := first(root, titleKeys); s != "" {
		return s
	}
	for _, v := range root.Members() {
		if v.Kind() != rawjson.String {
			continue
		}
		if s := v.Str(); s != "" && len(s) <= 80 && !strings.Contains(s, "\n") {
			return s
		}
	}
	return ""
}

// steps returns the open steps of an agent's own list of work.
func steps(root rawjson.Value) (open []string, ok bool) {
	for _, k := range [...]string{"todos", "plan", "items", "tasks"} {
		for v := range root.Get(k).Elems() {
			status := v.Get("status").Str()
			text := first(v, []string{"content", "step", "title", "text", "subject", "description"})
			if status == "" || text == "" {
				continue
			}
			ok = true
			if status != "completed" && status != "done" && status != "cancelled" {
				open = append(open, oneLine(text))
			}
		}
	}
	return open, ok
}

// patchPaths lists the files of a patch in the forms that agents write.
func patchPaths(patch string) (paths []string) {
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, " \r\n")
		for _, p := range [...]string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ",
			"+++ b/"} {
			if path, ok := strings.CutPrefix(line, p); ok && path != "" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// oneLine collapses white space.
func oneLine(s string) string {
	s = strings.TrimSpace(s)
	if !strings.ContainsAny(s, "\n\r\t\v\f\u0085\u2028\u2029") && !strings.Contains(s, "  ") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}
