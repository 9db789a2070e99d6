package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// recallFlags holds the flags of recall.
type recallFlags struct {
	conversation, scope, mode string
	budget, top               int
	floor                     float64
	json                      bool
}

func recallCommand() *cobra.Command {
	var o recallFlags
	cmd := &cobra.Command{
		Use:   "recall QUERY --conversation ID",
		Short: "Find what a query needs in the history",
		Long: `Find what a query needs in the history of a conversation, by word and by meaning,
under a budget of tokens (o200k_base) of the whole text that a model would be shown.
What is found is in the order of time.

Each passage has a score from 0 to 1: how sure it is that the history has anything
to say about the query, and where the passage stands between the worst and the best
(the geometric mean of both). What is below --floor is left out, so that an unrelated
query brings nothing. "keyword" is the BM25 of the passage's own words as a share of
the most that the query's words could come to; "dense" is the cosine of the two.

--mode hybrid   words, meaning, neighbours, speaker, role, dates
       keyword  the same without meaning: no model runs
       dense    cosine alone; 10 passages and a floor of 0.3 unless told otherwise

The first search embeds what the history says, and keeps the vectors with it; later
ones embed only what is new ("embedded" of --json counts). Where the history cannot be
written to, every search embeds. The model in this program embeds, or the server of the
setting embed.url: then texts and query are sent there.

--scope project takes all conversations of the same project, user all there are. Their
ids are then the name of the conversation, "#" and the id.`,
		Example: `  oriel recall "what did we decide about the database?" --conversation support
  oriel recall "TLS certificate" --conversation support --mode keyword --budget 1000
  oriel recall "which port?" --conversation support --scope project --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%d arguments: give one query, in quotes; see oriel recall --help", len(args))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.conversation, "conversation", "", "`name` of the conversation")
	f.StringVar(&o.scope, "scope", "conversation", "where to look: conversation, project or user")
	f.IntVar(&o.budget, "budget", recall.DefaultBudget, "most `tokens` of the text")
	f.IntVar(&o.top, "top", 0, "most `passages` (default: as many as fit; 10 for dense)")
	f.Float64Var(&o.floor, "floor", 0, "lowest `score` that is shown (default 0.15; 0.3 for dense; below 0 for none)")
	f.StringVar(&o.mode, "mode", "hybrid", "hybrid, keyword or dense")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		return data.keep(cmd.Context(), func(s timeline.Store) error {
			r, err := o.find(cmd, s, args[0])
			if err != nil {
				return err
			}
			if o.json {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return printRecall(cmd, &r)
		})
	}
	return cmd
}

func (o *recallFlags) check() error {
	switch {
	case o.conversation == "":
		return errors.New("no conversation: give --conversation; oriel conversations lists them")
	case !slices.Contains([]string{"conversation", "project", "user"}, o.scope):
		return fmt.Errorf("--scope %s: use conversation, project or user", o.scope)
	case !slices.Contains([]recall.Mode{recall.Hybrid, recall.Keyword, recall.Dense}, recall.Mode(o.mode)):
		return fmt.Errorf("--mode %s: use hybrid, keyword or dense", o.mode)
	case o.budget <= 0:
		return fmt.Errorf("--budget %d: want a number of tokens above 0", o.budget)
	case o.top < 0:
		return fmt.Errorf("--top %d: want a number of passages above 0", o.top)
	case o.floor > 1 || !number.Finite(o.floor):
		return fmt.Errorf("--floor %g: scores are 0 to 1", o.floor)
	}
	return nil
}

// found is the output of recall.
type found struct {
	*recall.Result
	// Embedded is how many passages had to be embedded for it. Passages of a
	// history that was searched before have their vectors.
	Embedded int64 `json:"embedded"`
}

// find builds the scope of the history in a library and searches it.
func (o *recallFlags) find(cmd *cobra.Command, s timeline.Store, query string) (found, error) {
	ctx := cmd.Context()
	c, err := findConversation(ctx, s, o.conversation)
	if err != nil {
		return found{}, err
	}
	options := recall.LibraryOptions{}
	if recall.Mode(o.mode) != recall.Keyword {
		e, err := embedSettings()
		if err != nil {
			return found{}, err
		}
		model, closeModel, err := openModel(e, 0)
		if err != nil {
			return found{}, err
		}
		defer closeModel()
		options.Model = model
	}
	library := recall.NewLibrary(s, options)
	defer library.Close()
	where := recall.Where{Tenant: timeline.Local, Conversation: c.Name, Reach: recall.Reach(o.scope)}
	if options.Model != nil {
		if err := embedAll(cmd, library, where); err != nil {
			return found{}, &failure{err}
		}
	}
	r, err := library.Recall(ctx, where, query, recall.RecallOptions{
		Budget: o.budget, Top: o.top, Floor: o.floor, Mode: recall.Mode(o.mode), Directives: -1, Now: time.Now(),
	})
	if err != nil {
		return found{}, &failure{err}
	}
	return found{r, library.Stats().Made}, nil
}

// embedAll waits until everything in scope has its vectors, for which a search
// alone does not wait.
func embedAll(cmd *cobra.Command, library *recall.Library, where recall.Where) error {
	p := newProgress(cmd, "embedding")
	p.things = true
	p.watch(func() (done, total int64) {
		n := library.Stats()
		return int64(n.Embedded), int64(n.Passages)
	})
	defer p.end()
	if _, err := library.Directives(cmd.Context(), where); err != nil {
		return err
	}
	err := library.Wait(cmd.Context())
	if n := library.Stats(); err != nil && cmd.Context().Err() == nil && n.Embedded == n.Passages {
		p.end()
		fmt.Fprintf(cmd.ErrOrStderr(), "oriel: the vectors are not kept: %s\n", oneLine(err.Error(), maxError))
		return nil
	}
	return err
}

func printRecall(cmd *cobra.Command, r *found) error {
	var b bytes.Buffer
	if len(r.Passages) == 0 {
		b.WriteString("nothing found\n")
	} else {
		t := table{left: []bool{true, true, true, false, false, false, false, true}}
		t.row("id", "time", "who", "score", "keyword", "dense", "tokens", "text")
		for _, p := range r.Passages {
			when := ""
			if p.Time != nil {
				when = p.Time.Format("2006-01-02 15:04")
			}
			who := p.Name
			if who == "" {
				who = p.Role
			}
			t.row(oneLine(p.Block, 40), when, oneLine(who, 20), two(p.Score), two(p.Keyword), two(p.Dense), thousands(p.Tokens), oneLine(p.Text, 80))
		}
		t.writeTo(&b)
		fmt.Fprintf(&b, "\n%s, %s of text, %s, %.1f ms\n", plural(len(r.Passages), "passage", "passages"), plural(r.Tokens, "token", "tokens"), r.Mode, r.TookMS)
	}
	if r.Embedded > 0 {
		fmt.Fprintf(&b, "%s embedded\n", plural(int(r.Embedded), "passage", "passages"))
	}
	_, err := cmd.OutOrStdout().Write(b.Bytes())
	return err
}

func two(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
