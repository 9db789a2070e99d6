package setup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Document is a text with settings. Its methods return a new text and leave it as it is. A
// value is its text in the language of the file, such as "a string".
type Document interface {
	// Get returns the text of the value at a path, and whether there is one.
	Get(path []string) (string, bool, error)
	// Set returns the text with a value at a path, with all that is missing on the way.
	Set(path []string, value string) (string, error)
	// Remove returns the text without the member at a path.
	Remove(path []string) (string, error)
	// Empty reports whether what is at a path has no members.
	Empty(path []string) bool
}

// errNoMember: there is nothing at a path.
var errNoMember = errors.New("there is no such setting")

// parse returns the document of a file, by its name.
func parse(file, text string) (Document, error) {
	switch filepath.Ext(file) {
	case ".json", ".jsonc":
		return parseJSON(text)
	case ".toml":
		return parseTOML(text)
	case ".env":
		return parseEnv(text), nil
	case ".yml", ".yaml":
		return parseYAML(text)
	}
	return nil, fmt.Errorf("%s is in no language that is known here", file)
}

// lineEnd returns how the lines of a text end.
func lineEnd(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}
