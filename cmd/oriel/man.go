package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oriel-context/oriel/internal/term"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man [DIR]",
		Short: "Print the manual page, or write it to a folder",
		Long: `Print the manual page of all commands for man, or write it to a folder as oriel.1, where
it replaces an older one.`,
		Example: `  oriel man > oriel.1 && man ./oriel.1
  oriel man ~/.local/share/man/man1 && man oriel`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%d folders: give one, or none to print the page", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string,
			_ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			page := manPage(cmd.Root(), thisBuild())
			if len(args) == 0 {
				_, err := cmd.OutOrStdout().Write(page)
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return manError(args[0], err)
			}
			path := filepath.Join(args[0], "oriel.1")
			if err := os.WriteFile(path, page, 0o644); err != nil {
				return manError(path, err)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", term.OneLine(path, maxError))
			return err
		},
	}
}

func manError(path string, err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		err = of.Err
	}
	return &failure{fmt.Errorf("write the manual page to %s: %w: give a folder that you may write to", path, err)}
}

// variables are the environment variables that the program reads.
var variables = [][2]string{
	{"ORIEL_DATA", "folder of the history, where --data is not given"},
	{"ORIEL_MODELS", "JSON file of models over the built-in table"},
	{"ORIEL_CONFIG", "file of settings, where --config is not given"},
	{"ORIEL_LISTEN, ORIEL_TOKEN, ORIEL_UPSTREAM_OPENAI …", "settings; oriel config --init prints the name of each"},
	{"ORIEL_KERNEL",
		"kernels for embeddings and vectors: a name such as avx2, or with a minus sign what not to use; oriel version names those in use"},
	{"HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "the way to the providers"},
	{"GOMEMLIMIT", "memory that oriel serve should stay within, such as 1GiB"},
	{"NO_COLOR", "no colour on terminals, whatever its value"},
}

// manPage returns the manual in roff, made from the same texts as --help.
func manPage(root *cobra.Command, b buildInfo) []byte {
	p := &page{}
	date, _, _ := strings.Cut(b.Date, "T")
	p.line(`.TH ORIEL 1 "%s" "oriel %s" "User Commands"`, roff(date), roff(b.Version))
	p.line(".SH NAME")
	p.line("oriel \\- %s", roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	p.line(".SH SYNOPSIS")
	p.line(".B oriel\n.I COMMAND\n[flags]")
	p.line(".SH DESCRIPTION")
	p.text(root.Long)
	p.line(".SH COMMANDS")
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			p.command(cmd)
		}
	}
	p.line(".SH ENVIRONMENT")
	for _, v := range variables {
		p.line(".TP\n.B %s\n%s", roff(v[0]), roff(v[1]))
	}
	p.line(".SH EXIT STATUS")
	p.line("0 on success, 2 on bad input or usage, 1 on other failures.")
	return p.Bytes()
}

// page is a growing roff text.
type page struct{ bytes.Buffer }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) command(cmd *cobra.Command) {
	p.line(`.SS "%s"`, roff(cmd.Root().Name()+" "+cmd.Use))
	if cmd.Long != "" {
		p.text(cmd.Long)
	} else {
		p.text(cmd.Short + ".")
	}
	cmd.NonInheritedFlags().VisitAll(p.flag)
	if cmd.Example != "" {
		p.line(".PP\nExamples:\n.PP")
		p.verbatim(strings.Split(cmd.Example, "\n"))
	}
}

func (p *page) flag(f *pflag.Flag) {
	if f.Hidden || f.Name == "help" {
		return
	}
	name := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Shorthand != "" {
		name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
	}
	value, usage := pflag.UnquoteUsage(f)
	if value != "" {
		name += ` \fI` + roff(value) + `\fR`
	}
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
	default:
		if strings.Contains(usage, "(default") {
			break // in words, because the value may come from this user's environment
		}
		usage += " (default " + f.DefValue + ")"
	}
	p.line(".TP\n%s\n%s", name, roff(usage))
}

// text writes paragraphs. A paragraph with an indented line is a table or a
// listing and stays as it is.
func (p *page) text(text string) {
	for _, paragraph := range strings.Split(text, "\n\n") {
		lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
		p.line(".PP")
		if strings.Contains("\n"+paragraph, "\n ") {
			p.verbatim(lines)
			continue
		}
		for _, l := range lines {
			p.line("%s", roff(l))
		}
	}
}

func (p *page) verbatim(lines []string) {
	p.line(".nf")
	for _, l := range lines {
		p.line("%s", roff(l))
	}
	p.line(".fi")
}

// roff escapes a text so that it contains no request, no escape, and no
// character that a plain terminal's man does not know.
func roff(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case i == 0 && (r == '.' || r == '\''):
			b.WriteString(`\&` + string(r))
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > 126:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
