package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	inside "github.com/oriel-context/oriel/internal/engine"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// recallFlags holds the flags of recall.
type recallFlags struct {
	conversation, scope, mode, project string
	all, complete, full, json          bool
	budget, top, around                int
	floor                              float64
}

func recallCommand() *cobra.Command {
	var o recallFlags
	cmd := &cobra.Command{
		Use:        "recall QUERY...",
		SuggestFor: []string{"search", "find", "grep"},
		Short:      "Search the history by words and meaning",
		Long: `Search the history by words and by meaning: one conversation, those of a project, or all
of them, which is the default.

The best messages are shown first, grouped by conversation and day, with the words of the
query marked. -C 2 also shows two messages before and after each. Messages that match much
less well than the best are left out; --floor and --top change that.

A terminal is shown the best passage of each message, whole unless it has more than 20
lines, and a few lines more of the first messages. A last line says how many lines are
left out. --full shows all passages that were found; oriel show shows the whole message.

A search by meaning needs vectors, which take time to make. A search makes those that it
needs most, for about a second, and stores them, so that later searches find more. A
running oriel serve makes the others in the background. --complete makes all of them
first, however long it takes, and so does --json unless --complete=false is given. The
model in this program makes the vectors, or the server of the setting embed.url, which is
then sent the texts and the query.

--json prints what a model would be shown within a budget of tokens (o200k_base), in
chronological order. The score of a passage, from 0 to 1, is the geometric mean of two
figures: how certain it is that the history says anything about the query, and the rank
of the passage between the worst and the best. "keyword" is the BM25 of the passage's own
words, as a share of the most that the query could score; "dense" is the cosine.

--mode hybrid   words, meaning, neighbours, speaker, role, dates
       keyword  the same without meaning: no model runs
       dense    cosine alone; by default 10 passages and a floor of 0.3

--conversation ID --scope project searches all conversations of its project, --scope user
all conversations.`,
		Example: `  oriel recall "what did we decide about the database?"
  oriel recall "TLS certificate" --conversation last --mode keyword -C 2
  oriel recall "which port?" --project shop --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return errors.New("the query is empty: give words to search for; see oriel recall --help")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.conversation, "conversation", "", "`id` of the conversation, the beginning of it, last, or its row")
	f.BoolVar(&o.all, "all", false, "search all conversations (the default unless one or a project is named)")
	f.StringVar(&o.project, "project", "", "search the conversations of this `project`: its path, or the end of it")
	f.StringVar(&o.scope, "scope", "conversation", "where to look from --conversation: conversation, project or user")
	f.IntVarP(&o.around, "context", "C", 0, "also show `n` messages before and after each")
	f.IntVar(&o.budget, "budget", recall.DefaultBudget, "most `tokens` of the text")
	f.IntVar(&o.top, "top", 0,
		"most `passages`, or messages for people (default: as many as fit, 16 for people; 10 for dense)")
	f.Float64Var(&o.floor, "floor", 0, "lowest `score` that is shown (default 0.15, 0.3 for dense; below 0 for none)")
	f.StringVar(&o.mode, "mode", "hybrid", "hybrid, keyword or dense")
	f.BoolVar(&o.complete, "complete", false, "make all vectors first (default with --json)")
	f.BoolVar(&o.full, "full", false, "show a terminal all passages that were found of each message")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		if o.json && !cmd.Flags().Changed("complete") {
			o.complete = true
		}
		err := data.keep(cmd.Context(), func(s tenantStore) error {
			r, err := o.find(cmd, s, strings.Join(args, " "))
			if err != nil {
				return err
			}
			if o.json {
				return printJSON(cmd.OutOrStdout(), r.form())
			}
			return o.printFound(cmd, s, &r)
		})
		if none := errors.Is(err, errNoHistory); none && o.json {
			nothing := found{result: &recall.Result{Query: strings.Join(args, " "), Mode: recall.Mode(o.mode)}}
			return errors.Join(tolerateNone(cmd, err), printJSON(cmd.OutOrStdout(), nothing.form()))
		}
		return tolerateNone(cmd, err)
	}
	return cmd
}

func (o *recallFlags) check() error {
	named := 0
	for _, is := range []bool{o.conversation != "", o.project != "", o.all} {
		if is {
			named++
		}
	}
	switch {
	case named > 1:
		return errors.New("--conversation, --project and --all exclude each other")
	case o.conversation == "" && o.scope != "conversation" && o.scope != "user":
		return errors.New("no conversation: --scope wants --conversation; --project searches a project")
	case !slices.Contains([]string{"conversation", "project", "user"}, o.scope):
		return fmt.Errorf("--scope %s: use conversation, project or user", o.scope)
	case !slices.Contains([]recall.Mode{recall.Hybrid, recall.Keyword, recall.Dense}, recall.Mode(o.mode)):
		return fmt.Errorf("--mode %s: use hybrid, keyword or dense", o.mode)
	case o.budget <= 0:
		return fmt.Errorf("--budget %d: want a number of tokens above 0", o.budget)
	case o.top < 0:
		return fmt.Errorf("--top %d: want a number of passages above 0", o.top)
	case o.around < 0:
		return fmt.Errorf("-C %d: want a number of messages", o.around)
	case o.floor > 1 || !number.Finite(o.floor):
		return fmt.Errorf("--floor %g: scores are 0 to 1", o.floor)
	}
	return nil
}

// where finds out which conversations are searched, and from which one.
func (o *recallFlags) where(ctx context.Context, s tenantStore) (recall.Where, error) {
	return placeWhere(ctx, s, report.Place{Conversation: o.conversation, Project: o.project,
		Reach: recall.Reach(o.scope)})
}

// placeWhere is report.Where with errors that the user did not cause as failures.
func placeWhere(ctx context.Context, s tenantStore, p report.Place) (recall.Where, error) {
	w, err := report.Where(ctx, s, s.tenant, p)
	var unknown *report.UnknownProject
	if err != nil && !errors.Is(err, timeline.ErrNoConversation) && !errors.As(err, &unknown) &&
		!errors.Is(err, report.ErrEmpty) {
		return w, &failure{err}
	}
	return w, err
}

// found is what a search found.
type found struct {
	result *recall.Result
	own    string // the conversation that the search began in
	// embedded is the number of passages that had to be embedded for the query; passages of a
	// history that was searched before have vectors.
	embedded int64
}

// form returns the JSON form.
func (f *found) form() any {
	return struct {
		report.Found
		Embedded int64 `json:"embedded"`
	}{report.NewFound(f.result, f.own), f.embedded}
}

const (
	// embedFor is how long after its beginning a search for people makes vectors.
	embedFor = time.Second
	// bytesPerToken estimates the tokens of a text.
	bytesPerToken = 4
	// peopleBudget is how many tokens of passages are looked at for people.
	peopleBudget = 40_000
	// peopleTop is how many messages people are shown.
	peopleTop = 16
	// storeFor is the longest that a search waits until the words that it has read are
	// stored for the next one. It usually takes some hundredths of a second, once.
	storeFor = time.Second
)

// find searches the history that o names.
func (o *recallFlags) find(cmd *cobra.Command, s tenantStore, query string) (found, error) {
	ctx := cmd.Context()
	where, err := o.where(ctx, s)
	if errors.Is(err, report.ErrEmpty) {
		return found{result: &recall.Result{Query: query, Mode: recall.Mode(o.mode)}}, nil
	}
	if err != nil {
		return found{}, err
	}
	var failed atomic.Pointer[error]
	in := call.Inside{RecallFailed: func(err error) {
		if !errors.Is(err, recall.ErrExtract) { // it finds the same without them
			failed.CompareAndSwap(nil, &err)
		}
	}}
	config := oriel.Config{NoEmbed: true, NoEmbedItems: true}
	if recall.Mode(o.mode) != recall.Keyword {
		e, err := embedSettings()
		if err != nil {
			return found{}, err
		}
		model, closeModel, err := serve.OpenModel(e, 0)
		if err != nil {
			return found{}, err
		}
		defer closeModel()
		config.Embed, config.NoEmbed = model, false
		if !o.complete {
			in.SearchFor = embedFor
		}
	}
	forPeople := !o.json && !cmd.Flags().Changed("budget")
	if forPeople { // who see no tokens: counting them takes a sixth of the time
		config.Count = func(text string) int { return len(text)/bytesPerToken + 1 }
	}
	engine, err := s.engine(call.With(ctx, in), config)
	if err != nil {
		return found{}, err
	}
	defer engine.Close()
	if !config.NoEmbed && o.complete {
		if err := embedAll(cmd, engine, where); err != nil {
			return found{}, &failure{err}
		}
	}
	ask := recall.RecallOptions{Budget: o.budget, Top: o.top, Floor: o.floor, Mode: recall.Mode(o.mode), Directives: -1,
		Now: time.Now()}
	if forPeople {
		ask.Budget = peopleBudget
	}
	if !o.json && ask.Mode != recall.Dense {
		ask.Top = 0 // people's order is another one
	}
	p := term.NewProgress(cmd.ErrOrStderr(), "searching")
	p.Watch(func() (done, total int64) { return 0, 0 }) // it ends by itself
	r, err := engine.Recall(ctx, where, query, ask)
	p.End()
	stored, cancel := context.WithTimeout(ctx, storeFor)
	_ = engine.Wait(stored) // what is not stored by then is stored by a later search
	cancel()
	st := inside.Of(engine).Recalled()
	if why := failed.Load(); err == nil && why != nil && !o.complete {
		if st.Made == 0 {
			return found{}, &failure{*why} // none can be made: --mode keyword needs none
		}
		notKept(cmd, *why)
	}
	if err != nil {
		return found{}, &failure{err}
	}
	if !config.NoEmbed {
		r.Unembedded = st.Passages - st.Embedded
	}
	return found{result: r, own: where.Conversation, embedded: st.Made}, nil
}

// embedAll waits until all that is searched has vectors, which a search alone
// does not.
func embedAll(cmd *cobra.Command, engine *oriel.Engine, where recall.Where) error {
	p := term.NewProgress(cmd.ErrOrStderr(), "embedding")
	p.Things = true
	p.Watch(func() (done, total int64) {
		n := inside.Of(engine).Recalled()
		return int64(n.Embedded), int64(n.Passages)
	})
	defer p.End()
	_, err := engine.Directives(cmd.Context(), where) // which reads all of it
	read := err == nil
	if read {
		err = engine.Wait(cmd.Context())
	}
	n := inside.Of(engine).Recalled()
	switch {
	case err == nil:
	case cmd.Context().Err() != nil:
		p.End()
		return fmt.Errorf("stopped; %s of %s passages have vectors: run it again to continue",
			term.Thousands(n.Embedded), term.Thousands(n.Passages))
	case read && n.Embedded == n.Passages:
		p.End()
		notKept(cmd, cause(err))
		return nil
	}
	return cause(err)
}

// notKept notes on standard error that vectors were made and could not be stored.
func notKept(cmd *cobra.Command, why error) {
	fmt.Fprintf(cmd.ErrOrStderr(), "oriel: the vectors are not kept: %s\n", term.OneLine(why.Error(), maxError))
}

// people returns what people are shown of what was found, the best first.
func (o *recallFlags) people(r *found) []report.Hit {
	hits := report.Hits(r.result, r.own)
	if o.floor == 0 {
		hits = report.Nearest(hits, r.result.Mode)
	}
	return hits[:min(len(hits), cmp.Or(o.top, peopleTop))]
}

// howFound describes how a result was found.
func (r *found) howFound() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %.1f s", r.result.Mode, r.result.TookMS/1000)
	if r.embedded > 0 {
		fmt.Fprintf(&b, ", %s embedded", term.Plural(int(r.embedded), "passage", "passages"))
	}
	if r.result.Unembedded > 0 {
		fmt.Fprintf(&b, "; %s found by words alone so far (--complete)",
			term.Plural(r.result.Unembedded, "passage", "passages"))
	}
	return b.String()
}
