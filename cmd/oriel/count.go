package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/bpe"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

func countCommand() *cobra.Command {
	var format, model, encoding string
	var text, asJSON bool
	cmd := &cobra.Command{
		Use:   "count [FILE]",
		Short: "Count the tokens of a request body or of a text",
		Long: `Count the tokens of a request body: in total, of the system prompt, of the tools
and of each message, and say whether the figure is

  exact        the model's own encoding
  calibrated   an estimate, corrected by what the provider reported for earlier
               calls of the model that went through Oriel (in the data folder)
  estimate     nothing is known of how the model counts

The body is FILE or standard input, in the form of Anthropic Messages, OpenAI
Chat, OpenAI Responses or a trajectory. It is counted for the model that --model
or the body names, and with o200k_base where neither does.

With --text the input is plain text, and one number is printed.`,
		Example: `  oriel count request.json
  oriel count --model gpt-4o --json < request.json
  oriel count --text --encoding cl100k_base notes.txt`,
		Args: oneFile,
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "auto", "`form` of the body: "+strings.Join(wire.FormatNames(), ", "))
	f.StringVar(&model, "model", "", "`model` to count for (default: the one that the body names)")
	f.StringVar(&encoding, "encoding", "", "`encoding` to count a text with (default o200k_base)")
	f.BoolVar(&text, "text", false, "the input is plain text: print one number")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	table := addModelTable(cmd)
	history := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		models, err := modelTable(*table)
		if err != nil {
			return err
		}
		body, err := wire.ParseFormat(format)
		switch {
		case err != nil:
			return err
		case text && body != wire.Auto:
			return fmt.Errorf("--format is for a request: a --text has none")
		case !text && encoding != "":
			return fmt.Errorf("--encoding is for --text: a request is counted for its model, use --model")
		}
		data, err := readInput(cmd, args)
		if err != nil {
			return err
		}
		if text {
			return countText(cmd.OutOrStdout(), models, data, model, encoding, asJSON)
		}
		learnt, err := history.calibration()
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "oriel: warning: %s\n", term.OneLine(err.Error(), maxError))
		}
		r, err := countBody(models, learnt, data, body, model)
		if err != nil {
			return fmt.Errorf("%s: %w", inputName(args), err)
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), r)
		}
		return r.writeTo(cmd.OutOrStdout(), term.StyleOf(cmd.OutOrStdout()))
	}
	return cmd
}

func countText(out io.Writer, models *token.Models, data []byte, model, encoding string, asJSON bool) error {
	if !utf8.Valid(data) {
		return fmt.Errorf("the text is not UTF-8: convert it first")
	}
	var n token.Count
	switch {
	case model != "" && encoding != "":
		return fmt.Errorf("--model and --encoding exclude each other: a model has its own encoding")
	case model != "":
		n = token.NewCounter(models.Lookup(model), token.Options{}).Text(string(data))
	default:
		if encoding == "" {
			encoding = "o200k_base"
		}
		enc, err := bpe.Get(encoding)
		if err != nil {
			return err
		}
		n = token.Count{Tokens: enc.CountBytes(data), Accuracy: token.Exact}
	}
	if asJSON {
		return printJSON(out, n)
	}
	_, err := fmt.Fprintln(out, n.Tokens)
	return err
}

// countReport is the output of count. Total is the sum of system, tools,
// messages and what the provider adds around them (overhead).
type countReport struct {
	Format   string         `json:"format"`
	Model    string         `json:"model"`
	Known    bool           `json:"known"`
	Encoding string         `json:"encoding"`
	Accuracy token.Accuracy `json:"accuracy"`
	// Error is the expected relative error of a calibrated figure.
	Error    float64        `json:"error,omitempty"`
	Total    int            `json:"total"`
	System   int            `json:"system"`
	Tools    int            `json:"tools"`
	Overhead int            `json:"overhead"`
	Messages []messageCount `json:"messages"`
	// Window is the model's window, or 0 if no model is named.
	Window int `json:"window,omitempty"`

	says []string // a description of each message, for people
}

type messageCount struct {
	Index  int       `json:"index"`
	Role   chat.Role `json:"role"`
	Type   string    `json:"type,omitempty"`
	Tokens int       `json:"tokens"`
}

func countBody(models *token.Models, learnt *token.Calibration, data []byte, f wire.Format,
	model string) (*countReport, error) {
	if f == wire.Auto {
		var err error
		if f, err = wire.Detect(data, wire.Limits{}); err != nil {
			return nil, err
		}
	}
	var req *chat.Request
	if f == wire.Trajectories {
		t, err := wire.ReadTrajectory(data, wire.Limits{})
		if err != nil {
			return nil, err
		}
		req = t.Request()
	} else {
		b, err := wire.Read(data, f, wire.Limits{})
		if err != nil {
			return nil, err
		}
		req = &b.Request
	}
	if model == "" {
		model = req.Model
	}
	r := &countReport{Format: f.String(), Model: model}
	m := token.Model{Encoding: "o200k_base", Exact: true}
	if model != "" {
		m = models.Lookup(model)
		r.Known, r.Window = m.Known, m.Window
	}
	r.Encoding = m.Encoding
	n := token.NewCounter(m, token.Options{Scale: learnt.Scale(token.LearntKey(timeline.Local, model))}).Request(req)
	r.Accuracy, r.Error, r.Total, r.System, r.Tools, r.Overhead = n.Accuracy, n.Error, n.Total, n.System, n.Tools,
		n.Overhead
	r.says = describe(req.Messages)
	r.Messages = make([]messageCount, len(req.Messages))
	for i := range req.Messages {
		r.Messages[i] = messageCount{Index: i, Role: req.Messages[i].Role, Type: req.Messages[i].Type,
			Tokens: n.Messages[i]}
	}
	return r, nil
}

func (r *countReport) writeTo(out io.Writer, s term.Style) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s tokens (%s", s.Bold(term.Thousands(r.Total)), r.Accuracy)
	if r.Error > 0 {
		fmt.Fprintf(&b, ", ±%.1f%%", 100*r.Error)
	}
	b.WriteString(")")
	if r.Model != "" {
		fmt.Fprintf(&b, " for %s", term.OneLine(r.Model, 60))
		if !r.Known {
			b.WriteString(", a model that the table does not know: a careful guess")
		}
	}
	if r.Known && r.Window > 0 {
		fmt.Fprintf(&b, ", %.1f%% of its window of %s", 100*float64(r.Total)/float64(r.Window),
			term.Thousands(r.Window))
	}
	b.WriteString("\n\n")
	largest := max(r.System, r.Tools, r.Overhead)
	for _, m := range r.Messages {
		largest = max(largest, m.Tokens)
	}
	t := term.Table{Left: []bool{false, true, false, true, true}}
	row := func(index, what string, n int, says string) {
		t.Row(index, what, term.Thousands(n), term.Bar(n, largest, 24), says)
	}
	if r.System > 0 || !slices.ContainsFunc(r.Messages, func(m messageCount) bool {
		return m.Role == chat.System ||
			m.Role == chat.Developer
	}) {
		row("", "system", r.System, "") // otherwise it is among the messages
	}
	row("", "tools", r.Tools, "")
	for _, m := range r.Messages {
		what := string(m.Role)
		if m.Type != "" && m.Type != "message" {
			what = m.Type
		}
		row(strconv.Itoa(m.Index), term.OneLine(what, 24), m.Tokens, r.says[m.Index])
	}
	row("", "overhead", r.Overhead, "")
	t.Draw(&b)
	_, err := out.Write(b.Bytes())
	return err
}
