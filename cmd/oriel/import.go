package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

func importCommand() *cobra.Command {
	var format, conversation, project, sync string
	var asJSON, verbose, mine bool
	cmd := &cobra.Command{
		Use:   "import PATH… | --mine",
		Short: "Import conversations of other programs",
		Long: `Import conversations that other programs recorded: files, or folders with everything
below them. The form of a file is detected from its content:

  claude-code                    sessions of Claude Code (~/.claude/projects)
  codex                          rollouts of Codex (~/.codex/sessions)
  gemini-cli                     sessions of Gemini CLI (~/.gemini/tmp)
  qwen-code                      sessions of Qwen Code (~/.qwen/projects)
  opencode                       opencode's or Kilo Code's database, what opencode
                                 export prints, or the storage of earlier versions
  cline                          sessions of Cline, and tasks of Roo Code, Zoo Code,
                                 Kilo Code and earlier versions of Cline
  copilot-cli                    sessions of GitHub Copilot CLI (~/.copilot/session-state)
  continue                       sessions of Continue (~/.continue/sessions)
  pi                             sessions of Pi (~/.pi/agent/sessions)
  goose, crush                   the database of Goose, or that of Crush in a project
  aider                          .aider.chat.history.md
  chatgpt, claude-ai             conversations.json of an export from these sites
  openai, anthropic, responses   request bodies: one a file, or a list or lines of
                                 them, which are the successive calls of a
                                 conversation
  generic                        lines such as {"conversation":"c1","ref":"u17",
                                 "time":"2024-05-01T10:00:00Z","role":"user",
                                 "name":"Ann","text":"…"}; only text is needed
  locomo, beam, tau-bench        the data sets of these names

With --mine it looks where these agents keep their conversations, prints what it
found, and imports it. Histories of aider and Crush are in the folders that they were used
in: --mine finds that of the current folder, or of one above it. It names places that cannot
be read, imports the others, and exits with 2.

A session that Oriel recorded stays as it was recorded, with its plans and numbers; the file becomes a
branch of that conversation, also if it was recorded under another name.

Messages are stored unchanged: oriel export writes a session byte for byte. Importing a
file again adds nothing; if it has grown, only what is new is added; if it was edited, it
becomes a branch.

A conversation is named after the session (agents, exports), after the name in the file
(generic, locomo), or after the file (bodies) or folder (beam, cline, aider), including
the folders below PATH.

In folders, hidden files are skipped, and files of an unknown form are skipped with a
note. Lines that cannot be read are skipped and everything else is imported. The command
then prints their number and the place of the first one on standard error, prints nothing
on standard output, and exits with 2. --verbose also lists up to 20 of them and what was
imported.`,
		Example: `  oriel import --mine
  oriel import ~/.claude/projects
  oriel import --format generic --conversation support chat.jsonl
  oriel import --project /src/shop requests.jsonl --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !mine {
				return fmt.Errorf("no files: give files or folders to import, or --mine; see oriel import --help")
			}
			if len(args) > 0 && mine {
				return fmt.Errorf("--mine looks for files by itself: leave out %q", term.OneLine(args[0], 60))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "auto", "`form` of the files: auto, "+formatNames())
	f.BoolVar(&mine, "mine", false, "import what agents keep in their usual places")
	f.StringVar(&conversation, "conversation", "", "`name` of the conversation, where the input has only one")
	f.StringVar(&project, "project", "", "`project` of the conversations (default: the folder that a session ran in)")
	f.StringVar(&sync, "sync", "normal", "what a power failure may lose: the last moments (normal) or nothing (full)")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.BoolVar(&verbose, "verbose", false,
		"name the lines that cannot be read and list what was imported beside them, on standard error")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer endBySignals(cmd)()
		o := importer.Options{Conversation: conversation, Project: project}
		var err error
		if o.Tenant, err = data.tenantName(); err != nil {
			return err
		}
		if o.Format, err = importer.ParseFormat(format); err != nil {
			return err
		}
		level, err := serve.SyncLevel(sync)
		if err != nil {
			return err
		}
		var unread []importer.Problem
		if mine {
			if args, unread, err = findMine(cmd.Context(), cmd.ErrOrStderr(), o); err != nil {
				return orInterrupted(cmd, err)
			}
		}
		if _, err := importer.Check(cmd.Context(), args, o); err != nil { // before a folder is created
			return orInterrupted(cmd, err)
		}
		store, err := data.serve(cmd.Context(), level, nil)
		if err != nil {
			return &failure{err}
		}
		p := term.NewProgress(cmd.ErrOrStderr(), "importing")
		o.Progress = p.Update
		report, err := importer.Import(cmd.Context(), store, args, o)
		p.End()
		if err == nil {
			keepWords(cmd, store, o.Tenant, report)
		}
		called := names{}
		if err == nil && !asJSON {
			called, err = namesOf(cmd, tenantStore{store, o.Tenant}, report)
		}
		err = errors.Join(err, store.Close())
		report.Broken += len(unread)
		report.Problems = append(unread, report.Problems...)
		if n := len(report.Skipped); mine && n > 0 && !verbose && !asJSON {
			report.Skipped = nil // agents keep other files beside their conversations
			fmt.Fprintf(cmd.ErrOrStderr(), "oriel: note: %s no known form and %s left out; --verbose lists them\n",
				term.Plural(n, "other file there has", "other files there have"), are(n))
		}
		err = finishImport(cmd, report, called, err, asJSON, verbose)
		if err == nil && mine && !asJSON {
			replayLine(cmd, args, o)
		}
		return err
	}
	return cmd
}

// keepWords stores the words of what was imported for the first search. If that fails, the
// search reads the messages.
func keepWords(cmd *cobra.Command, store timeline.Store, tenant string, r *importer.Report) {
	p := term.NewProgress(cmd.ErrOrStderr(), "indexing")
	p.Things = true
	defer p.End()
	for i, c := range r.Conversations {
		p.Update(int64(i), int64(len(r.Conversations)))
		if c.New == 0 {
			continue
		}
		if err := recall.KeepWords(cmd.Context(), store, tenant, c.Name); err != nil {
			if cmd.Context().Err() == nil {
				p.End()
				fmt.Fprintf(cmd.ErrOrStderr(), "oriel: note: the words are indexed by the first search: %s\n",
					term.OneLine(err.Error(), maxError))
			}
			return
		}
	}
}

func formatNames() string {
	var names []string
	for _, f := range importer.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// finishImport prints what was imported. If something could not be imported,
// it returns a one-line error and, with verbose, prints the details before.
func finishImport(cmd *cobra.Command, r *importer.Report, called names, err error, asJSON, verbose bool) error {
	errOut := cmd.ErrOrStderr()
	if err != nil {
		if verbose {
			printProblems(errOut, r)
		}
		if errors.Is(err, importer.ErrInput) || errors.Is(err, timeline.ErrInvalid) {
			return err
		}
		if cmd.Context().Err() != nil {
			err = errors.New("stopped")
		}
		return &failure{fmt.Errorf("%w: what was imported before stays, and importing again continues from there", err)}
	}
	print := func(out io.Writer, r *importer.Report) error { return printImport(out, r, called) }
	if asJSON {
		print = func(out io.Writer, r *importer.Report) error { return printJSON(out, r) }
	}
	if r.Broken == 0 {
		printSkipped(errOut, r)
		return print(cmd.OutOrStdout(), r)
	}
	hint := "--verbose lists them"
	if verbose {
		printSkipped(errOut, r)
		printProblems(errOut, r)
		if err := print(errOut, r); err != nil {
			return err
		}
		hint = "all else is there"
	}
	first := strings.Join(strings.Fields(r.Problems[0].String()), " ")
	return fmt.Errorf("%s not be read and %s left out, first %s: mend the file and import it again; %s",
		term.Plural(r.Broken, "line or message could", "lines or messages could"), were(r.Broken), first, hint)
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// maxNotes is how many skipped files are listed.
const maxNotes = 20

// printSkipped lists the skipped files of a folder.
func printSkipped(out io.Writer, r *importer.Report) {
	for i, path := range r.Skipped {
		if i == maxNotes {
			fmt.Fprintf(out, "oriel: note: and %s more\n", term.Thousands(len(r.Skipped)-i))
			break
		}
		fmt.Fprintf(out, "oriel: note: %s has no known form and is left out\n", term.OneLine(path, 200))
	}
}

// printProblems lists the lines that could not be read.
func printProblems(out io.Writer, r *importer.Report) {
	for _, p := range r.Problems {
		fmt.Fprintf(out, "oriel: %s\n", term.OneLine(p.String(), maxError))
	}
	if more := r.Broken - len(r.Problems); more > 0 {
		fmt.Fprintf(out, "oriel: and %s more\n", term.Thousands(more))
	}
}

// maxImported is how many conversations are listed.
const maxImported = 20

// names are what conversations are called: their ids as a terminal is shown them, and their
// titles.
type names struct {
	short  shortIDs
	titles map[string]string
}

// namesOf reads the names of the conversations that are listed.
func namesOf(cmd *cobra.Command, s tenantStore, r *importer.Report) (n names, err error) {
	if n.short, err = shortIDsFor(cmd.Context(), cmd.OutOrStdout(), s); err != nil {
		return n, err
	}
	n.titles = map[string]string{}
	for _, c := range r.Conversations[:min(len(r.Conversations), maxImported)] {
		title, err := titleOf(cmd.Context(), s, c.Name)
		if err != nil {
			return n, err
		}
		n.titles[c.Name] = term.OneLine(title, 60)
	}
	return n, nil
}

func printImport(out io.Writer, r *importer.Report, called names) error {
	var b bytes.Buffer
	t := term.Table{Left: []bool{true, true, false, false, true}}
	t.Row("conversation", "form", "messages", "new", "title")
	for i, c := range r.Conversations {
		if i == maxImported {
			t.Row(fmt.Sprintf("and %s more", term.Thousands(len(r.Conversations)-i)), "", "", "", "")
			break
		}
		t.Row(called.short.of(c.Name), string(c.Format), term.Thousands(c.Messages), term.Thousands(c.New),
			called.titles[c.Name])
	}
	if len(r.Conversations) > 0 {
		if sc := term.ScreenOf(out); sc.Width > 0 {
			t.Fit(sc.Width, 8)
		}
		t.Draw(&b)
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s, %s, %s: %s new", term.Plural(r.Files, "file", "files"), term.Bytes(r.Bytes),
		term.Plural(r.Messages, "message", "messages"), term.Thousands(r.New))
	if r.Variants > 0 {
		fmt.Fprintf(&b, ", %s", term.Plural(r.Variants, "new form of a known one", "new forms of known ones"))
	}
	b.WriteString("\n")
	for _, c := range r.Conversations {
		if c.Branch {
			fmt.Fprintf(&b, "%s: somebody else went on with it meanwhile and it stays there; what was imported is a branch, which oriel show --branches lists\n", wholeID(c.Name))
		}
	}
	if n := recordedBefore(r); n > 0 {
		fmt.Fprintf(&b, "%s recorded by Oriel already: what was recorded stays the main line, the file is a branch of it, which oriel show --branches lists\n",
			term.Plural(n, "conversation was", "conversations were"))
	}
	if r.New > 0 {
		b.WriteString("next: oriel conversations lists them, oriel recall searches them\n")
	}
	_, err := out.Write(b.Bytes())
	return err
}

// recordedBefore counts the conversations that Oriel had recorded.
func recordedBefore(r *importer.Report) (n int) {
	for _, c := range r.Conversations {
		if c.Recorded {
			n++
		}
	}
	return n
}
