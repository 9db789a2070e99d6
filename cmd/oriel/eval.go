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
	"github.com/oriel-context/oriel/internal/eval"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/recall"
)

// evalFlags holds the flags of eval.
type evalFlags struct {
	format, details  string
	scope            string
	budgets          []int
	policies, remove []string
	json             bool

	server, model              string // of the model that answers
	limit, concurrency, window int
	table                      *string
}

func evalCommand() *cobra.Command {
	var o evalFlags
	cmd := &cobra.Command{
		Use:   "eval PATH… --format FORM",
		Short: "Measure recall on conversations with questions",
		Long: `Measure how much of what a question needs is in the context that a model would be given,
for several policies and token budgets (o200k_base, of the whole context).

  locomo       files of LoCoMo's schema. Adversarial questions are listed and are not
               part of "all"
  beam         chat folders of BEAM, or a folder of them: chat.json and
               probing_questions.json
  generic      files or a folder of the generic import format, with questions.jsonl
               beside them: {"conversation","id","kind","question","evidence":["u17"],
               "answer":"…"}, or "unanswerable":true for the last
  claude-code  sessions, or a folder of them. The cases are files that were read before a
               compaction and are read again within 30 calls after it, and, apart from
               them, the same after a window of 64,000 tokens is cut to half. The query is
               the newest words of user or assistant; for "ahead" those before the turn
               that reads. Rows show in how many cases the context has the path of the
               file or a passage of what it showed before, and what share of the lines
               that it shows now; "all" is path or passage after compactions

  recent    the newest messages
  bm25      plain BM25 with the message before and after; in chats of user and
            assistant, over the user's messages
  keyword   recall without vectors
  dense     cosine alone
  hybrid    recall

A figure is the mean over questions of the share of their evidence, in per cent: messages
of which the context has a passage of 200 characters or more, and in brackets, if that is
not the same, messages that it has as a whole.

--answer puts the questions to a model on an OpenAI-compatible server, with the context
of each policy and budget, with the newest messages (recent) and with the whole history,
and compares its answers with the gold ones: exact match and F1 of words, in per cent,
both without case, articles and punctuation. Questions that the conversation does not
answer are counted separately: "refused" is the percentage of replies that say so ("no
information", "not mentioned", "unknown" …). Questions without a gold answer are not
asked. Failed calls are counted and are not part of any other figure. The key is that of
$OPENAI_API_KEY.

--scope user asks each question of all conversations of the set together, as a search
of everything does: what is in another conversation than the question's is in its way.

--without removes stages from keyword and hybrid: neighbours, speaker, date, role,
length, directives, spread, conversation, router.`,
		Example: `  oriel eval locomo10.json --format locomo --policy bm25,hybrid
  oriel eval beam/100K --format beam --budget 4096,8192 --details details.jsonl
  oriel eval locomo10.json --format locomo --scope user --policy hybrid
  oriel eval my-set --format generic --policy hybrid --without date,speaker --json
  oriel eval locomo10.json --format locomo --budget 2048 --answer http://127.0.0.1:8080/v1 --model qwen3-8b`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no files: give a set to measure on; see oriel eval --help")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "`form` of the set: locomo, beam, generic or claude-code")
	f.IntSliceVar(&o.budgets, "budget", []int{512, 1024, 2048, 4096, 8192}, "`tokens` of context")
	f.StringSliceVar(&o.policies, "policy", eval.Policies(), "`policies` to compare")
	f.StringSliceVar(&o.remove, "without", nil, "`stages` to leave out")
	f.StringVar(&o.scope, "scope", string(recall.ReachConversation),
		"`part` that a question is asked of: conversation, its own, or user, all of the set as one")
	f.StringVar(&o.details, "details", "", "`file` for one line of JSON for each question, budget and policy")
	f.StringVar(&o.server, "answer", "", "`address` of a server that answers the questions, up to /v1")
	f.StringVar(&o.model, "model", "", "`name` of the model that answers")
	f.IntVar(&o.limit, "answer-limit", 0, "most `questions` to answer, spread over the set (default all)")
	f.IntVar(&o.concurrency, "concurrency", 4, "`calls` at a time")
	f.IntVar(&o.window, "window", 0,
		"most `tokens` of a prompt: a longer history is cut to its newest (default the model's)")
	o.table = addModelTable(cmd)
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		report, err := o.run(cmd, args)
		switch {
		case errors.Is(err, eval.ErrInput), errors.Is(err, eval.ErrOption):
			return err
		case err != nil:
			return &failure{err}
		case o.json:
			return printJSON(cmd.OutOrStdout(), report)
		}
		if r, ok := report.(*eval.AnswerReport); ok {
			return printAnswers(cmd, r)
		}
		return printEval(cmd, report.(*eval.Report), &o)
	}
	return cmd
}

// run returns an *eval.Report or, with --answer, an *eval.AnswerReport.
func (o *evalFlags) run(cmd *cobra.Command, paths []string) (report any, err error) {
	if o.format == "" {
		return nil, fmt.Errorf("%w: give --format: locomo, beam, generic or claude-code", eval.ErrOption)
	}
	for _, b := range o.budgets {
		if b <= 0 {
			return nil, fmt.Errorf("%w: --budget %d: want a number of tokens above 0", eval.ErrOption, b)
		}
	}
	weights := recall.DefaultWeights()
	for _, stage := range o.remove {
		if !weights.Without(stage) {
			return nil, fmt.Errorf("%w: --without %s: the stages are %s", eval.ErrOption, stage,
				strings.Join(recall.Stages(), ", "))
		}
	}
	answers, err := o.answers(cmd)
	if err != nil {
		return nil, err
	}
	options := eval.Options{Budgets: o.budgets, Policies: o.policies, Weights: &weights}
	if !slices.Contains(eval.Reaches(), recall.Reach(o.scope)) {
		return nil, fmt.Errorf("%w: --scope %q: use %s or %s", eval.ErrOption, term.OneLine(o.scope, 40),
			recall.ReachConversation, recall.ReachUser)
	}
	set, err := eval.Load(cmd.Context(), o.format, paths)
	if err != nil {
		return nil, err
	}
	if o.scope == string(recall.ReachUser) {
		if set, err = set.Together(); err != nil {
			return nil, err
		}
	}
	if slices.Contains(o.policies, "dense") || slices.Contains(o.policies, "hybrid") {
		model, err := minilm.Open(minilm.Options{})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", eval.ErrOption, err)
		}
		defer model.Close()
		options.Model = embed.Model(model)
	}
	if o.details != "" {
		file, err := os.Create(o.details)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", eval.ErrOption, err)
		}
		out := bufio.NewWriterSize(file, 1<<16)
		defer func() { err = errors.Join(err, out.Flush(), file.Close()) }()
		options.Details = out
	}
	p := term.NewProgress(cmd.ErrOrStderr(), "measuring")
	p.Things = true
	defer p.End()
	options.Progress = p.Update
	if answers != nil {
		return eval.Answer(cmd.Context(), set, options, *answers)
	}
	return eval.Run(cmd.Context(), set, options)
}

// replyRoom is how many tokens of a window are reserved for the reply.
const replyRoom = 1024

// answers returns the options of the model that answers, or nil.
func (o *evalFlags) answers(cmd *cobra.Command) (*eval.AnswerOptions, error) {
	if o.server == "" {
		for _, name := range []string{"model", "answer-limit", "concurrency", "window"} {
			if cmd.Flags().Changed(name) {
				return nil, fmt.Errorf("%w: --%s is for a model that answers: give --answer, the address of its server",
					eval.ErrOption, name)
			}
		}
		return nil, nil
	}
	if o.format == "claude-code" {
		return nil, fmt.Errorf("%w: --format claude-code has no gold answers: leave out --answer", eval.ErrOption)
	}
	if o.limit < 0 || o.concurrency <= 0 || o.window < 0 {
		return nil, fmt.Errorf("%w: --answer-limit, --concurrency and --window: want numbers above 0", eval.ErrOption)
	}
	server, err := eval.NewServer(o.server, o.model, os.Getenv("OPENAI_API_KEY"))
	if err != nil {
		return nil, err
	}
	models, err := modelTable(*o.table)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", eval.ErrOption, err)
	}
	m := models.Lookup(o.model)
	window := o.window
	if window == 0 {
		window = m.InputLimit(replyRoom)
	}
	if m.Multiplier > 1 { // contexts are counted in o200k_base
		window = int(float64(window) / m.Multiplier)
	}
	return &eval.AnswerOptions{Server: server, Limit: o.limit, Concurrency: o.concurrency, Window: window}, nil
}

// printAnswers prints a table with one row per policy and budget.
func printAnswers(cmd *cobra.Command, r *eval.AnswerReport) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s, %s with an answer, %s without one to give", r.Model,
		term.Plural(r.Conversations, "conversation", "conversations"),
		term.Plural(r.Questions, "question", "questions"), term.Thousands(r.Unanswerable))
	if r.Without > 0 {
		fmt.Fprintf(&b, "; %s not asked: the set has no answer", term.Thousands(r.Without))
	}
	b.WriteString("\n")
	if r.Cut > 0 {
		fmt.Fprintf(&b, "whole: cut to the newest messages in %s, to keep prompts within %s tokens; see --window\n",
			term.Plural(r.Cut, "conversation", "conversations"), term.Thousands(r.Window))
	}
	b.WriteString("\n")
	t := term.Table{Left: []bool{true, false, false, false, false, false, false, false, false}}
	t.Row("policy", "budget", "questions", "exact", "F1", "declined", "refused", "prompt tokens", "failures")
	failures := 0
	for _, row := range r.Rows {
		budget, refused := "", ""
		if row.Budget > 0 {
			budget = term.Thousands(row.Budget)
		}
		if row.Unanswerable > 0 {
			refused = one(row.Refused) + " of " + term.Thousands(row.Unanswerable)
		}
		failures += row.Failures
		t.Row(row.Policy, budget, term.Thousands(row.Questions), one(row.Exact), one(row.F1), one(row.Declined),
			refused, term.Thousands(int(row.Tokens+.5)), term.Thousands(row.Failures))
	}
	t.Draw(&b)
	if failures > 0 {
		fmt.Fprintf(&b, "\n%s failed and %s in no other figure; the first: %s\n",
			term.Plural(failures, "call", "calls"), map[bool]string{true: "is", false: "are"}[failures == 1], r.Fault)
	}
	_, err := cmd.OutOrStdout().Write(b.Bytes())
	return err
}

// printEval prints a table with one row per policy and kind and one column per
// budget.
func printEval(cmd *cobra.Command, r *eval.Report, o *evalFlags) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, %s", term.Plural(r.Conversations, "conversation", "conversations"),
		term.Plural(r.Questions, "question", "questions"))
	if r.Aside > 0 {
		fmt.Fprintf(&b, ", %s aside", term.Thousands(r.Aside))
	}
	if r.Without > 0 {
		fmt.Fprintf(&b, ", %s without evidence", term.Thousands(r.Without))
	}
	if r.Unknown > 0 {
		fmt.Fprintf(&b, ", %s of evidence that no conversation has", term.Plural(r.Unknown, "piece", "pieces"))
	}
	b.WriteString("\n\n")
	budgets := slices.Compact(slices.Sorted(slices.Values(o.budgets)))
	t := term.Table{Left: []bool{true, true, false}}
	head := []string{"policy", "kind", "questions"}
	for _, n := range budgets {
		head = append(head, term.Thousands(n))
		t.Left = append(t.Left, false)
	}
	head = append(head, "session R@10", "p50 ms", "p95 ms")
	t.Left = append(t.Left, false, false, false)
	t.Row(head...)
	shown := map[string]bool{}
	for _, policy := range o.policies {
		if shown[policy] {
			continue
		}
		shown[policy] = true
		for _, kind := range kindsOf(r, policy) {
			t.Row(evalRow(r, policy, kind, budgets)...)
		}
	}
	t.Draw(&b)
	_, err := cmd.OutOrStdout().Write(b.Bytes())
	return err
}

// kindsOf returns the kinds of questions of a report, in its order.
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
			cells[2] = term.Thousands(row.Questions)
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
