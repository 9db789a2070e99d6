package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/eval"
	"github.com/oriel-context/oriel/recall"
)

// evalFlags are what the command line says.
type evalFlags struct {
	format, details  string
	budgets          []int
	policies, remove []string
	json             bool
}

func evalCommand() *cobra.Command {
	var o evalFlags
	cmd := &cobra.Command{
		Use:   "eval PATH… --format FORM",
		Short: "Measure recall on conversations with questions",
		Long: `Measure how much of what a question needs stands in the context that a model would be
given, for several policies and token budgets (o200k_base, of the whole context).

  locomo    files of LoCoMo's schema. Adversarial questions are listed and are no
            part of "all"
  beam      chat folders of BEAM, or a folder of them: chat.json and
            probing_questions.json
  generic   files or a folder of the generic import format, with questions.jsonl
            beside them: {"conversation","id","kind","question","evidence":["u17"]}

  recent    the newest messages
  bm25      plain BM25 with the message before and after; in chats of user and
            assistant, over the user's messages
  keyword   recall without vectors
  dense     cosine alone
  hybrid    recall

A figure is the mean over questions of the share of their evidence, in per cent: of
messages of which a passage of 200 characters or more stands in the context, and in
brackets, where that is not the same, of those that stand there as a whole.

--without takes stages out of keyword and hybrid: neighbours, speaker, date, role,
length, directives, spread, router.`,
		Example: `  oriel eval locomo10.json --format locomo --policy bm25,hybrid
  oriel eval beam/100K --format beam --budget 4096,8192 --details details.jsonl
  oriel eval my-set --format generic --policy hybrid --without date,speaker --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no files: give a set to measure on; see oriel eval --help")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "`form` of the set: locomo, beam or generic")
	f.IntSliceVar(&o.budgets, "budget", []int{512, 1024, 2048, 4096, 8192}, "`tokens` of context")
	f.StringSliceVar(&o.policies, "policy", eval.Policies(), "`policies` to compare")
	f.StringSliceVar(&o.remove, "without", nil, "`stages` to leave out")
	f.StringVar(&o.details, "details", "", "`file` for one line of JSON for each question, budget and policy")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		report, err := o.run(cmd, args)
		switch {
		case errors.Is(err, eval.ErrInput):
			return err
		case err != nil:
			return &failure{err}
		case o.json:
			return printJSON(cmd.OutOrStdout(), report)
		}
		return printEval(cmd, report, &o)
	}
	return cmd
}

func (o *evalFlags) run(cmd *cobra.Command, paths []string) (report *eval.Report, err error) {
	if o.format == "" {
		return nil, fmt.Errorf("%w: give --format: locomo, beam or generic", eval.ErrInput)
	}
	for _, b := range o.budgets {
		if b <= 0 {
			return nil, fmt.Errorf("%w: --budget %d: want a number of tokens above 0", eval.ErrInput, b)
		}
	}
	weights := recall.DefaultWeights()
	for _, stage := range o.remove {
		if !weights.Without(stage) {
			return nil, fmt.Errorf("%w: --without %s: the stages are %s", eval.ErrInput, stage, strings.Join(recall.Stages(), ", "))
		}
	}
	options := eval.Options{Budgets: o.budgets, Policies: o.policies, Weights: &weights}
	set, err := eval.Load(cmd.Context(), o.format, paths)
	if err != nil {
		return nil, err
	}
	if slices.Contains(o.policies, "dense") || slices.Contains(o.policies, "hybrid") {
		model, err := minilm.Open(minilm.Options{})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", eval.ErrInput, err)
		}
		defer model.Close()
		options.Model = embed.Model(model)
	}
	if o.details != "" {
		file, err := os.Create(o.details)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", eval.ErrInput, err)
		}
		out := bufio.NewWriterSize(file, 1<<16)
		defer func() { err = errors.Join(err, out.Flush(), file.Close()) }()
		options.Details = out
	}
	p := newProgress(cmd, "measuring")
	p.things = true
	defer p.end()
	options.Progress = p.update
	return eval.Run(cmd.Context(), set, options)
}

// printEval prints a table: policies and kinds down, budgets across.
func printEval(cmd *cobra.Command, r *eval.Report, o *evalFlags) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, %s", plural(r.Conversations, "conversation", "conversations"), plural(r.Questions, "question", "questions"))
	if r.Aside > 0 {
		fmt.Fprintf(&b, ", %s aside", thousands(r.Aside))
	}
	if r.Without > 0 {
		fmt.Fprintf(&b, ", %s without evidence", thousands(r.Without))
	}
	b.WriteString("\n\n")
	budgets := slices.Compact(slices.Sorted(slices.Values(o.budgets)))
	t := table{left: []bool{true, true, false}}
	head := []string{"policy", "kind", "questions"}
	for _, n := range budgets {
		head = append(head, thousands(n))
		t.left = append(t.left, false)
	}
	head = append(head, "session R@10", "p50 ms", "p95 ms")
	t.left = append(t.left, false, false, false)
	t.row(head...)
	for _, policy := range o.policies {
		for _, kind := range kindsOf(r, policy) {
			t.row(evalRow(r, policy, kind, budgets)...)
		}
	}
	t.print(&b)
	_, err := cmd.OutOrStdout().Write(b.Bytes())
	return err
}

// kindsOf are the kinds of questions of a report, in its order.
func kindsOf(r *eval.Report, policy string) []string {
	var out []string
	for _, row := range r.Rows {
		if row.Policy == policy && !slices.Contains(out, row.Kind) {
			out = append(out, row.Kind)
		}
	}
	return out
}

func evalRow(r *eval.Report, policy, kind string, budgets []int) []string {
	cells := []string{policy, kind, ""}
	for _, n := range budgets {
		for _, row := range r.Rows {
			if row.Policy != policy || row.Kind != kind || row.Budget != n {
				continue
			}
			cells[2] = thousands(row.Questions)
			cell := one(row.Recall)
			if one(row.Whole) != cell {
				cell += " (" + one(row.Whole) + ")"
			}
			cells = append(cells, cell)
		}
	}
	if kind != "all" {
		cells[0] = ""
		return append(cells, "", "", "")
	}
	sessions := ""
	for _, s := range r.Sessions {
		if s.Policy == policy {
			sessions = one(s.Recall)
		}
	}
	cells = append(cells, sessions)
	for _, l := range r.Latency {
		if l.Policy == policy {
			cells = append(cells, two(l.P50), two(l.P95))
		}
	}
	return cells
}

func one(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
