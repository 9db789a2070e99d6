package condense

import (
	"regexp"
	"strconv"
	"strings"
)

// outcome is how a call ended, as far as its result shows.
type outcome struct {
	// state is "passed", "ok", "failed", "refused by the user", "no result", or
	// "" if unknown.
	state string
	// lines describe a failure, most informative first.
	lines []string
	// said is the user's comment on refusing the call, as quoted in the result.
	said string
}

func (o outcome) failed() bool { return strings.HasPrefix(o.state, "failed") }

var (
	exitCode = regexp.MustCompile(`(?i)\A\W{0,3}(?:command |process )?(?:exit(?:ed)?(?: with)?(?: code| status)?|failed with exit code):? (\d+)|"exit_code": ?(\d+)|(?:Process exited with code|\bexit (?:code|status):?) (\d+)`)
	failures = regexp.MustCompile(`\b([1-9]\d*) (?:failed|failures?|failing)\b`)
	place    = regexp.MustCompile(`^\S+\.\w+[:(]\d+[:,)]`)
	plumbing = regexp.MustCompile(`(?:\s*(?:2>&1|\|\s*(?:tail|head)(?:\s+-\S+)*(?:\s+\d+)?))+\s*$`)
	raised   = regexp.MustCompile(`^[A-Za-z_.]*(?:Error|Exception)\b:? `)
)

// refusal begins the results of calls that a user did not allow.
const refusal = "The user doesn't want to "

// judge determines how a call ended. If show is set, text is only displayed
// content (a file, search results) and proves nothing.
func judge(text string, isError, show, test bool) outcome {
	text = strings.TrimSpace(text)
	if isError && strings.HasPrefix(text, refusal) {
		_, said, _ := strings.Cut(text, "the user said:")
		said, _, _ = strings.Cut(said, "\n\nNote:")
		return outcome{state: "refused by the user", said: strings.TrimSpace(said)}
	}
	code := -1
	// Exit codes are at the beginning or end of the output.
	for _, end := range [...]string{text[:min(len(text), 300)], text[max(0, len(text)-300):]} {
		if m := exitCode.FindStringSubmatch(end); m != nil && code < 0 {
			code, _ = strconv.Atoi(m[1] + m[2] + m[3])
		}
	}
	o := outcome{}
	var strong bool
	if isError || code > 0 || !show {
		o.lines, strong = errorLines(text, isError || code > 0)
	}
	switch {
	case code > 0:
		o.state = "failed, exit " + strconv.Itoa(code)
	case isError || strong && code < 0:
		o.state = "failed"
	case test && passed(text):
		o.state = "passed"
	case code == 0:
		o.state = "ok"
	}
	if !o.failed() {
		o.lines = nil
	}
	return o
}

// Signs of failure at the beginning of a line, and within one.
var (
	failBegin = []string{
		"--- FAIL", "FAIL", "error:", "Error:", "ERROR:", "error[", "error ", "ERROR ", "fatal:", "panic:",
		"Traceback (most recent",
		"npm ERR!", "npm error", "✗", "✖", "✘", "CONFLICT", "WARNING: DATA RACE", "make: ***", "E   ", "thread '",
		"undefined reference",
		"Error executing", "Error reading", "Edit failed", "Failed to ",
	}
	failWithin = []string{
		": error:", " error: ", ": fatal error", "ommand not found", "No such file or directory", "ermission denied",
		"Segmentation fault",
		"cannot find module", "Cannot find module", "undefined: ", "is not recognized as",
	}
	// chatter is never what went wrong.
	chatter = []string{"$ ", "===", "ok ", "ok\t", "?", "PASS", "--- PASS"}
	// dull lines say that something failed but not what.
	dull = []string{"FAIL\t", "FAIL:", "FAILED", "ERROR task failed", "exit status"}
)

// errorLines returns up to four lines that describe a failure, most informative
// first. strong reports that they prove a failure by themselves. For a known
// failure without such a line it returns the first line.
func errorLines(text string, known bool) (lines []string, strong bool) {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<tool_use_error>"), "</tool_use_error>")
	var places, after []string // lines with a file position; after are those below a failed test's name
	other, under := "", false
	seen := 0
	for line := range strings.Lines(text) {
		if seen++; seen > 5000 || len(lines) >= 8 {
			break
		}
		// Build tools prefix each line with the task's name.
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			if _, after, ok := strings.Cut(line[:min(len(line), 40)], "] "); ok {
				line = strings.TrimSpace(line[len(line[:min(len(line), 40)])-len(after):])
			}
		}
		if line == "" {
			continue
		}
		switch {
		case anyPrefix(line, failBegin) || raises(line[:min(len(line), 300)]):
			strong = true
			under = strings.HasPrefix(line, "--- FAIL")
			if line != "FAIL" && !anyPrefix(line, dull) {
				lines = append(lines, line)
			}
		case anyWithin(line[:min(len(line), 300)], failWithin):
			lines = append(lines, line)
		case strings.IndexByte(line[:min(len(line), 300)], ':') > 0 && place.MatchString(line[:min(len(line), 300)]):
			if under {
				after = append(after, line)
			} else {
				places = append(places, line)
			}
		case other == "" && !exitCode.MatchString(line) && !anyPrefix(line, chatter) &&
			!strings.Contains(line, " INFO "):
			other = line
		}
	}
	if !strong && !known {
		return nil, false
	}
	if len(after) == 0 { // the last ones are the most informative
		after = places[max(0, len(places)-2):]
	}
	lines = append(lines[:min(len(lines), 2)], after[:min(len(after), 2)]...)
	if len(lines) == 0 && other != "" {
		lines = []string{other}
	}
	for i := range lines {
		lines[i] = clipLine(oneLine(lines[i]), 160)
	}
	return lines, strong
}

// raises reports whether a line has an exception's name or a number of failures.
// Words are searched first, because regular expressions are slow.
func raises(line string) bool {
	return (strings.Contains(line, "Error") || strings.Contains(line, "Exception")) && raised.MatchString(line) ||
		strings.Contains(line, " fail") && failures.MatchString(line)
}

// passed reports whether a text has what test runners and builders print on
// success.
func passed(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "ok\t") || line == "PASS" ||
			strings.HasPrefix(line, "PASS\t") ||
			strings.Contains(line, " passed") || strings.Contains(line, " passing") ||
			strings.HasPrefix(line, "test result: ok") ||
			strings.Contains(line, "BUILD SUCCESS") || strings.HasPrefix(line, "0 issues") {
			return true
		}
	}
	return false
}

func anyPrefix(s string, list []string) bool {
	for _, p := range list {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func anyWithin(s string, list []string) bool {
	for _, p := range list {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// Commands that only show something: they change nothing, and their output says
// nothing about success.
var (
	showWords = map[string]bool{
		"ls": true, "cat": true, "head": true, "tail": true, "grep": true, "rg": true, "find": true, "wc": true,
		"pwd": true, "echo": true,
		"tree": true, "stat": true, "which": true, "less": true, "awk": true, "jq": true, "env": true, "ps": true,
		"du": true, "df": true, "date": true, "diff": true, "sort": true,
	}
	showGit = map[string]bool{"log": true, "diff": true, "show": true, "status": true, "branch": true, "remote": true,
		"tag": true, "rev-parse": true, "blame": true, "ls-files": true, "reflog": true}
	testWords = []string{"test", "lint", "build", "vet", "check", "make", "tsc", "pytest", "jest", "cargo", "npm run",
		"gradle", "mvn", "compile", "ruff", "mypy", "rspec"}
)

// tidy removes from a command what only prepares it or shortens its output.
func tidy(command string) string {
	for {
		rest := strings.TrimSpace(command)
		if strings.HasPrefix(rest, "cd ") {
			if i := strings.Index(rest, "&&"); i > 0 && !strings.ContainsAny(rest[:i], ";|") {
				command = rest[i+2:]
				continue
			}
		}
		return plumbing.ReplaceAllString(rest, "")
	}
}

// kindOfCommand reports whether a command only shows something, and whether it
// runs tests.
func kindOfCommand(command string) (show, test bool) {
	f := strings.Fields(command[:min(len(command), 400)])
	for len(f) > 0 && (strings.Contains(f[0], "=") || f[0] == "sudo" || f[0] == "time" || f[0] == "timeout" ||
		f[0] == "env") {
		f = f[1:]
	}
	if len(f) == 0 {
		return true, false
	}
	word := f[0][strings.LastIndexByte(f[0], '/')+1:]
	switch {
	case word == "git" && len(f) > 1:
		show = showGit[f[1]]
	case word == "sed" && len(f) > 1:
		show = f[1] == "-n"
	case word == "gh" && len(f) > 2:
		show = f[2] == "view" || f[2] == "list" || f[2] == "diff" || f[1] == "api"
	default:
		show = showWords[word]
	}
	return show, !show && anyWithin(command, testWords)
}
