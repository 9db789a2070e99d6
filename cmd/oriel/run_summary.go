package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/token"
)

// summary describes a run; see docs/run.md.
type summary struct {
	// Program is its name. Its arguments are left out, because they may
	// contain prompts and keys.
	Program string  `json:"program"`
	Exit    int     `json:"exit"`
	Seconds float64 `json:"seconds"`
	Profile string  `json:"profile"`
	bill
	Cuts           int     `json:"cuts"`
	Recalls        int     `json:"recalls"`
	Condensations  int     `json:"condensations"`
	CondensingCost float64 `json:"condensing_cost"`
	// Calls that are not counted above: Unread had bodies that could not be
	// read, Refused keys that the provider rejected, and Unrecorded could not
	// be written or were passed on unread.
	Unread     int64 `json:"unread"`
	Refused    int64 `json:"refused"`
	Unrecorded int64 `json:"unrecorded"`
	// Others counts requests that are not calls: models, files.
	Others int64 `json:"others"`
	// Log is the log file if it has warnings or errors, else "".
	Log string `json:"log,omitempty"`

	launch   *launch
	listen   string // where oriel serve listens
	data     string // as given
	trouble  string // why there is no history
	came     int64  // number of all calls
	sockets  int64
	overflow int
	// unwritten are summaries that failed, the last of them by unwrittenBy.
	unwritten   int
	unwrittenBy string
}

// requests adds the proxy's counters.
func (s *summary) requests(c proxy.Counters) {
	s.came, s.Others, s.sockets = c.Calls, c.Passed, c.Upgraded
}

// add adds what the engine reported; r is nil if there is none.
func (s *summary) add(t *runCounts, r *call.Counters, models *token.Models, recorded map[string]usage.Price) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.bill = makeBill(t.calls, models, recorded)
	s.Cuts, s.Recalls, s.Condensations = t.counts[oriel.EventCut], t.counts[oriel.EventRecall],
		t.counts[oriel.EventCondensation]
	s.unwritten, s.unwrittenBy = t.failedSummaries, t.summaryError
	s.CondensingCost, s.overflow = t.cost, t.counts[oriel.EventOverflow]
	if r != nil {
		s.Unread, s.Refused = r.Unknown.Load(), r.Refused.Load()
	}
	s.Unrecorded = max(0, s.came-int64(s.Calls)-s.Unread-s.Refused)
}

// write writes the summary to a file, if one is named. Only its owner may read
// it, because it names conversations.
func (s *summary) write(path string) error {
	if path == "" {
		return nil
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = writePrivate(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// canWrite returns an error if writePrivate could not write a file at path. It makes the
// file if there is none.
func canWrite(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // to open a pipe would wait for its reader
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// writePrivate writes a file that only its owner may read, even if it existed
// before.
func writePrivate(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}

// writeTo writes the summary for people.
func (s *summary) writeTo(b *bytes.Buffer, p term.Style) {
	switch {
	case s.came == 0:
		s.printNone(b, p)
	case s.Calls == 0:
		fmt.Fprintln(b, p.Bold(fmt.Sprintf("oriel: %s CAME THROUGH, AND NONE WAS RECORDED",
			strings.ToUpper(term.Things(int(s.came), "call")))))
	default:
		s.printCalls(b, p)
	}
	s.printTrouble(b)
	if s.Calls > 0 { // last, so that it is seen: what to type to have less, more or nothing
		field(b, "profile", "%s; %s", s.Profile, otherProfiles(s.Profile))
	}
}

// field writes one line of the summary.
func field(b *bytes.Buffer, name, format string, args ...any) {
	fmt.Fprintf(b, "  %-7s %s\n", name, term.OneLine(fmt.Sprintf(format, args...), maxError))
}

func (s *summary) printCalls(b *bytes.Buffer, p term.Style) {
	head := fmt.Sprintf("oriel: %s", term.Things(s.Calls, "call"))
	if n := len(s.Conversations); n > 1 {
		head += fmt.Sprintf(" in %d conversations", n)
	}
	if s.Seconds < 10 {
		head += fmt.Sprintf(", %.1fs", s.Seconds)
	} else {
		head += ", " + (time.Duration(s.Seconds) * time.Second).String()
	}
	fmt.Fprintln(b, p.Bold(head))
	if s.After >= s.Before {
		field(b, "sent", "%s tokens, everything", term.Thousands(s.After))
	} else {
		field(b, "sent", "%s of %s tokens (%s)", term.Thousands(s.After), term.Thousands(s.Before),
			term.Percent(s.After, s.Before))
	}
	if s.Input > 0 && s.Unreported < s.Calls {
		field(b, "cached", "%s of them read from the provider's cache", term.Percent(s.CacheRead, s.Input))
	}
	if s.Cuts+s.Recalls+s.Condensations > 0 {
		line := fmt.Sprintf("%d; recalls %d", s.Cuts, s.Recalls)
		if s.Condensations > 0 {
			line += fmt.Sprintf("; summaries %d (%s)", s.Condensations, term.Money(s.CondensingCost))
		}
		field(b, "cuts", "%s", line)
	}
	s.printCost(b)
	if o := s.Observed; o != nil {
		name := "would"
		for i := range o.Would {
			field(b, name, "%s: %s", o.Would[i].Profile, wouldHave(o, &o.Would[i]))
			name = ""
		}
	}
	field(b, "look", "%s", s.look())
	field(b, "console", "%s", s.console())
}

// look returns the shell command that shows the conversation with the most
// calls.
func (s *summary) look() string {
	if s.Cuts > 0 {
		return s.command("show", "--plan")
	}
	return s.command("show")
}

// console returns the shell command that opens it in the console.
func (s *summary) console() string { return s.command("console") }

// command returns a shell command on the conversation with the most calls.
func (s *summary) command(verb string, flags ...string) string {
	name, words := s.Conversations[0], []string{"oriel", verb}
	dashed := strings.HasPrefix(name, "-")
	if !dashed {
		words = append(words, name)
	}
	words = append(words, flags...)
	if s.data != "" {
		words = append(words, "--data", s.data)
	}
	if dashed {
		words = append(words, "--", name)
	}
	return shellLine(words)
}

// shellLine quotes a command for a shell: clients choose the names of
// conversations, and people copy the line.
func shellLine(words []string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:=,@%+", r)
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func (s *summary) printCost(b *bytes.Buffer) {
	unpriced := strings.Join(named3(s.UnknownModels), ", ")
	switch {
	case s.Cost == 0 && unpriced != "":
		field(b, "cost", "unknown: no price is known of %s", unpriced)
		return
	case s.After < s.Before:
		field(b, "cost", "about %s; about %s without Oriel", term.Money(s.Cost), term.Money(s.Without))
	default:
		field(b, "cost", "about %s", term.Money(s.Cost))
	}
	if unpriced != "" {
		field(b, "", "without the calls of %s: no price is known", unpriced)
	}
	if s.Unreported > 0 {
		field(b, "", "%s counted by Oriel, because the provider reported no usage", term.Things(s.Unreported, "call"))
	}
}

// item writes a text after a mark, in lines of at most 80 columns; longer
// words stay whole.
func item(b *bytes.Buffer, mark, text string) {
	line := "  " + mark
	for _, word := range strings.Fields(term.Printable(text)) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 80 && strings.TrimSpace(line) != mark {
			fmt.Fprintln(b, line)
			line = "   "
		}
		line += " " + word
	}
	fmt.Fprintln(b, line)
}

// printTrouble writes what went wrong.
func (s *summary) printTrouble(b *bytes.Buffer) {
	say := func(n int64, what string) {
		if n > 0 {
			item(b, "!", term.Things(int(n), "call")+" "+what)
		}
	}
	if s.trouble != "" {
		item(b, "!", s.trouble)
	}
	say(s.Unread, "could not be read: forwarded unchanged, not recorded")
	say(s.Refused, "refused with 401 or 403, and not recorded: check the key")
	say(int64(s.Failed), "failed; the last error: "+term.OneLine(s.Failure, 300))
	if s.trouble == "" {
		say(s.Unrecorded, "forwarded but not recorded")
	}
	say(int64(s.overflow), "too large for the provider, and sent again smaller")
	if s.unwritten > 0 {
		item(b, "!", fmt.Sprintf("%s failed; the last error: %s", term.Plural(s.unwritten, "summary", "summaries"),
			term.OneLine(s.unwrittenBy, 300)))
	}
	if s.Log != "" {
		item(b, "!", "warnings and errors are in "+s.Log)
	}
}

// printNone says clearly that no call was seen, and lists possible causes.
func (s *summary) printNone(b *bytes.Buffer, p term.Style) {
	name := s.launch.name()
	fmt.Fprintln(b, p.Bold("oriel: NO CALL CAME THROUGH: nothing was recorded, and nothing was cut"))
	if s.Others > 0 {
		fmt.Fprintf(b, "  %s of another kind came, so the base URL is used.\n", term.Things(int(s.Others), "request"))
	} else {
		fmt.Fprintf(b, "  If %s has called a model, it did so without Oriel. What to check:\n", term.OneLine(name, 100))
	}
	for _, hint := range s.hints(name) {
		item(b, "-", hint)
	}
}

// hints returns what may keep a program's calls away, the most likely first.
func (s *summary) hints(name string) (hints []string) {
	say := func(h string) { hints = append(hints, h) }
	if s.sockets > 0 {
		say(term.Things(int(s.sockets), "connection") + " became a WebSocket, which cannot be looked into")
	}
	if c := s.launch.codex; c != nil && c.aside != "" {
		say("the base URL of Codex was not set: " + c.aside)
		return hints
	} else if c != nil {
		say("Codex takes base URLs from its settings: a profile, or the .codex folder of a project, may name another provider; -c model_provider=… chooses one")
		say("oriel run --show -- codex … shows the arguments that it is given")
		return hints
	}
	if v := "CLAUDE_CODE_USE_BEDROCK"; s.launch.env.get(v) != "" && !unsignedBedrock(s.launch.env) {
		say(v + " is set: calls are signed for AWS, and go to no base URL; with an API key in " + bedrockKey +
			" they come here")
	}
	if v := "CLAUDE_CODE_USE_FOUNDRY"; s.launch.env.get(v) != "" {
		say(v + " is set: calls go to that cloud, and to no base URL")
	}
	if v := "CLAUDE_CODE_USE_VERTEX"; s.launch.env.get(v) != "" {
		say(v + " is set: calls go to ANTHROPIC_VERTEX_BASE_URL; docs/reference/protocols.md has how they come here")
	}
	if name == "claude" {
		say(`ANTHROPIC_BASE_URL under "env" in ~/.claude/settings.json, or in the .claude folder of the project, takes precedence over the variable: remove it, and give its value to oriel run as --upstream-anthropic`)
		say("it may have ended before it called a model, because of a missing login or --help")
		return hints
	}
	if s.Others > 0 {
		say("it may have ended before it called a model, or use an API that Oriel does not know: docs/proxy.md lists those that it does")
		return hints
	}
	say(fmt.Sprintf("it may read neither %s nor %s, or have a setting of its own for the base URL: start oriel serve, and set that to http://%s/v1 (OpenAI) or http://%[3]s (Anthropic)",
		openAIVariables[0], anthropicVariables[0], s.listen))
	say("a service or a container that calls the model for it does not see these variables")
	say("oriel run --show prints the variables, and docs/run.md says what programs need")
	return hints
}
