package report

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/importer/claudecode"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// About is what the messages of a conversation say of it.
type About struct {
	// Title is the title that the agent's own file has, or the first words of the person,
	// on one line; empty if there are none.
	Title string
	// Model is the model that an imported session asked last; empty if it is not known.
	Model string
	// Tokens counts the messages' own text (o200k_base).
	Tokens int
	// Calls are those of which an imported session has the usage; Cost is their price in US
	// dollars, without those of models that have no price. Unpriced lists these models.
	Calls    int
	Cost     float64
	Unpriced []string
}

// ReadAbout reads all messages of a conversation. It returns nil if one of the words occurs
// neither in the id, the project and the title nor in a message, whatever the case of its
// letters.
func ReadAbout(ctx context.Context, s timeline.Store, tenant string, c *Listed, models *token.Models,
	words ...string) (*About, error) {
	d := describing{counter: TextCounter(), said: map[string]*saidUsage{}, refs: map[string]bool{}}
	for _, w := range words {
		d.wanted = append(d.wanted, strings.ToLower(w))
	}
	if err := s.Messages(ctx, tenant, c.Head, 1, c.Head.Depth, false, d.entry); err != nil &&
		!errors.Is(err, timeline.ErrNoPlace) {
		return nil, err
	}
	if err := d.note(ctx, s, tenant, c.Name); err != nil {
		return nil, err
	}
	d.About.Title = d.title()
	d.look(c.Name + "\n" + c.Project + "\n" + d.About.Title)
	if len(d.wanted) > 0 {
		return nil, nil
	}
	d.calls(models)
	d.Cost = usage.Dollars(d.Cost)
	return &d.About, nil
}

// Title returns the title of a conversation: that of About. It reads the first messages and,
// of a session of Claude Code, the lines that the agent wrote for itself. A conversation that
// is deleted meanwhile has the title that was found by then.
func Title(ctx context.Context, s timeline.Store, tenant string, c *timeline.Conversation) (string, error) {
	d := describing{counter: TextCounter(), said: map[string]*saidUsage{}, refs: map[string]bool{}}
	if err := d.note(ctx, s, tenant, c.Name); err != nil || d.noted != "" {
		return d.noted, err
	}
	var err error
	for first := int64(1); err == nil && first <= min(c.Head.Depth, wordsWithin) &&
		cmp.Or(d.given, d.words) == ""; first += page {
		err = s.Messages(ctx, tenant, c.Head, first, first+page-1, false, d.entry)
	}
	if err == nil && d.claudeCode {
		err = d.agentLines(ctx, s, tenant, c)
	}
	if errors.Is(err, timeline.ErrNoPlace) {
		err = nil
	}
	return d.title(), err
}

// Title reads a page of messages at a time. A person's words after the first wordsWithin
// messages are no title, on no screen.
const (
	page        = 16
	wordsWithin = 16 * page
)

// agentLines reads the lines that Claude Code wrote for itself.
func (d *describing) agentLines(ctx context.Context, s timeline.Store, tenant string, c *timeline.Conversation) error {
	var lines [][2]int64 // the first and the last of stretches with such lines
	err := s.Messages(ctx, tenant, c.Head, 1, c.Head.Depth, true, func(e *timeline.Entry) error {
		d.refs[e.Ref] = true
		if n := len(lines); e.Role != timeline.RoleMeta {
			return nil
		} else if n > 0 && e.Place.Depth-lines[n-1][1] <= page {
			lines[n-1][1] = e.Place.Depth
		} else {
			lines = append(lines, [2]int64{e.Place.Depth, e.Place.Depth})
		}
		return nil
	})
	for i := 0; i < len(lines) && err == nil; i++ {
		err = s.Messages(ctx, tenant, c.Head, lines[i][0], lines[i][1], false, func(e *timeline.Entry) error {
			if e.Role == timeline.RoleMeta {
				d.line(e)
			}
			return nil
		})
	}
	return err
}

// maxTitle is how many characters of a title are kept.
const maxTitle = 200

// describing collects what makes an About.
type describing struct {
	About
	counter *token.Counter

	noted      string      // the title in the file that was imported
	given      string      // a title that somebody gave
	summaries  [][2]string // a message, and a summary of the conversation up to it
	refs       map[string]bool
	words      string // the person's first words
	asked      string // the model that an imported session names last
	resumed    string // the message with which an agent continues after a compaction
	claudeCode bool   // it begins with lines of Claude Code's files

	wanted []string // words that have not occurred yet, in lower case

	said  map[string]*saidUsage // replies of imported sessions, by id
	order []string
}

// saidUsage is the usage of a call according to an imported session.
type saidUsage struct {
	model string
	usage token.Usage
}

func (d *describing) entry(e *timeline.Entry) error {
	if e.Ref != "" {
		d.refs[e.Ref] = true
	}
	if e.Format == timeline.FormatClaudeCode {
		d.claudeCode = d.claudeCode || e.Place.Depth <= page
		d.line(e)
	} else {
		d.asked = cmp.Or(e.Model(), d.asked)
	}
	c, err := e.Chat()
	if err != nil {
		return nil // a line that an agent wrote for itself
	}
	d.Tokens += Tokens(d.counter, &c)
	if len(d.wanted) > 0 {
		d.look(timeline.Words(&c))
	}
	if d.words == "" && e.Place.Depth <= wordsWithin && c.Role == chat.User && !isMeta(e) {
		text := Line(personal(&c), maxTitle)
		if strings.HasPrefix(text, resumes) {
			d.resumed = cmp.Or(d.resumed, text)
		} else {
			d.words = text
		}
	}
	return nil
}

// personal returns the person's words in a message, without what agents put before them in
// forms that read like words.
func personal(c *chat.Message) string {
	var own []string
	for i, words := range c.Words() {
		words = strings.TrimSpace(words)
		raw := strings.TrimSpace(c.Parts[i].Text.String())
		if slices.ContainsFunc(wrappers, func(w string) bool {
			return strings.HasPrefix(raw, w) ||
				strings.HasPrefix(words, w)
		}) {
			continue
		}
		if _, request, ok := strings.Cut(words, requestHead); ok {
			words = request
		}
		own = append(own, words)
	}
	return strings.Join(own, " ")
}

// wrappers begin the messages in which Codex tells the model about the project and the
// machine, and the one with which Claude Code asks for a title. In editors, Codex puts requestHead
// between the open files and the request.
var wrappers = []string{"<session>", "<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "<permissions",
	"<collaboration_mode>", "<turn_aborted>", "# AGENTS.md instructions"}

const requestHead = "## My request for Codex:"

// look strikes out the wanted words that a text has.
func (d *describing) look(text string) {
	if len(d.wanted) == 0 {
		return
	}
	text = strings.ToLower(text)
	d.wanted = slices.DeleteFunc(d.wanted, func(w string) bool { return strings.Contains(text, w) })
}

// resumes begins the message with which Claude Code continues after a
// compaction.
const resumes = "This session is being continued from a previous conversation"

// isMeta reports whether Claude Code wrote a message of the user that people do not see.
func isMeta(e *timeline.Entry) bool {
	if e.Format != timeline.FormatClaudeCode {
		return false
	}
	line, err := claudecode.Parse(e.Raw)
	return err == nil && line.Meta
}

// line reads what Claude Code writes beside the messages: titles, and what a reply cost.
func (d *describing) line(e *timeline.Entry) {
	line, err := claudecode.Parse(e.Raw)
	if err != nil {
		return
	}
	switch line.Type {
	case claudecode.CustomTitle:
		d.given = Line(line.Title, maxTitle)
	case claudecode.AITitle:
		d.given = cmp.Or(d.given, Line(line.Title, maxTitle))
	case claudecode.Summary:
		d.summaries = append(d.summaries, [2]string{line.Leaf, Line(line.Title, maxTitle)})
	case claudecode.Assistant:
		id, model, u := line.Message.ID, line.Message.Model, line.Message.Usage
		if id == "" || !u.Known || strings.HasPrefix(model, "<") { // "<synthetic>": an error
			return
		}
		s := d.said[id]
		if s == nil {
			s = &saidUsage{}
			d.said[id] = s
			d.order = append(d.order, id)
		}
		// A reply has a line for each part; the last one has all of its tokens.
		*s = saidUsage{model, token.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead,
			CacheWrite: u.CacheWrite, CacheWrite1h: u.CacheWrite1h}}
	}
}

// note reads the title that an imported file gave the conversation.
func (d *describing) note(ctx context.Context, s timeline.Store, tenant, name string) error {
	title, err := timeline.Notes{Store: s, Tenant: tenant, Conversation: name}.Title(ctx)
	d.noted = Line(title, maxTitle)
	return err
}

// title returns the title of what was read. Only a file of Claude Code has lines with titles.
func (d *describing) title() string {
	if d.noted == "" && d.claudeCode {
		return cmp.Or(d.given, d.ofThis(), d.words, d.resumed)
	}
	return cmp.Or(d.noted, d.words, d.resumed)
}

// ofThis returns the last summary that is of this conversation: a file of Claude Code may
// have those of others.
func (d *describing) ofThis() string {
	for _, s := range slices.Backward(d.summaries) {
		if d.refs[s[0]] {
			return s[1]
		}
	}
	return ""
}

// calls adds up the calls of an imported session.
func (d *describing) calls(models *token.Models) {
	ledger := usage.NewLedger(models)
	for _, id := range d.order {
		s := d.said[id]
		d.Model = cmp.Or(s.model, d.Model)
		d.Calls++
		p := ledger.Price(&usage.Call{Model: s.model, Usage: &s.usage})
		d.Cost += p.Cost
		if p.Billed && !p.Known && !slices.Contains(d.Unpriced, s.model) {
			d.Unpriced = append(d.Unpriced, s.model)
		}
	}
	d.Model = cmp.Or(d.Model, d.asked)
}
