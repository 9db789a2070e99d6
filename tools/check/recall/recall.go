// Package recall compares the search of a large scope in PostgreSQL with that in memory.
//
//	./scripts/check recall [-store URL] [-format locomo|beam] PATH…
//
// All conversations of a set are one scope, and each question is asked of it under budgets
// of 2,048 and 4,096 tokens: once in memory, once in the database with the words alone,
// and once in the database as it is. The figures are the share of the evidence that is
// shown, in part and as a whole, as oriel eval --scope user has them.
//
// Without -store a server is started from the programs in PATH or /usr/lib/postgresql. If
// it has pgvector, vectors are searched, too.
package recall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/internal/eval"
	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/tools/check/kit"
)

// Check compares the searches on the sets of the paths.
func Check(args []string) error {
	flags := kit.Flags("recall")
	store := flags.String("store", "", "URL of an empty database")
	format := flags.String("format", "locomo", "locomo or beam")
	paths := kit.Parse(flags, args)
	if len(paths) == 0 {
		return errors.New("name files of LoCoMo or folders of BEAM")
	}
	if *store == "" {
		server, err := started()
		if err != nil {
			return err
		}
		defer server.Stop()
		*store = server.URL()
	}
	ctx := context.Background()
	s, err := postgres.Open(ctx, *store, postgres.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	model, err := minilm.Open(minilm.Options{})
	if err != nil {
		return err
	}
	defer model.Close()
	c := &comparison{store: s, model: model, texts: map[string]string{}}
	for _, path := range paths {
		if err := c.load(ctx, *format, path); err != nil {
			return err
		}
	}
	return c.run(ctx)
}

// started starts a server, with pgvector if it has it.
func started() (*pgtest.Server, error) {
	server, err := pgtest.New()
	if err != nil {
		return nil, err
	}
	admin := strings.Replace(server.Admin(), "/postgres?", "/oriel?", 1)
	c, err := pgx.Connect(context.Background(), admin)
	if err == nil {
		defer c.Close(context.Background())
		_, err = c.Exec(context.Background(), "CREATE EXTENSION vector")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "!! SKIPPED: vectors in the database: %v\n", err)
	}
	return server, nil
}

// comparison is the sets that are compared, in one store.
type comparison struct {
	store     *postgres.Store
	model     embed.Model
	texts     map[string]string // conversation and ref → text
	questions []question
	first     string // a conversation to ask from
}

type question struct {
	text     string
	evidence []string // conversation and ref
}

func key(conversation, ref string) string { return conversation + "\x00" + ref }

// load imports a set and reads its questions.
func (c *comparison) load(ctx context.Context, format, path string) error {
	set, err := eval.Load(ctx, format, []string{path})
	if err != nil {
		return err
	}
	o := importer.Options{Format: importer.Locomo}
	if format == "beam" {
		if len(set.Conversations) != 1 {
			return fmt.Errorf("%s: give the folder of one chat", path)
		}
		o = importer.Options{Format: importer.Beam, Conversation: filepath.Base(filepath.Dir(path)) + " " +
			filepath.Base(path)}
		path = filepath.Join(path, "chat.json")
	}
	report, err := importer.Import(ctx, c.store, []string{path}, o)
	if err != nil {
		return err
	}
	for i := range set.Conversations {
		name := report.Conversations[i].Name
		if c.first == "" {
			c.first = name
		}
		for _, m := range set.Conversations[i].Messages {
			c.texts[key(name, m.Ref)] = m.Text
		}
		for _, q := range set.Conversations[i].Questions {
			if len(q.Evidence) == 0 || q.Aside {
				continue
			}
			asked := question{text: q.Text}
			for _, ref := range q.Evidence {
				asked.evidence = append(asked.evidence, key(name, ref))
			}
			c.questions = append(c.questions, asked)
		}
	}
	return nil
}

// run embeds everything and prints the figures.
func (c *comparison) run(ctx context.Context) error {
	where := recall.Where{Tenant: timeline.Local, Conversation: c.first, Reach: recall.ReachUser}
	memory := recall.NewLibrary(c.store, recall.LibraryOptions{Model: c.model, Memory: 1 << 40})
	defer memory.Close()
	began := time.Now()
	memory.Prepare(where)
	if err := memory.Wait(ctx); err != nil {
		return err
	}
	st := memory.Stats()
	fmt.Printf("%d messages, %d passages, %d questions; embedded in %v\n", len(c.texts), st.Passages, len(c.questions),
		time.Since(began).Round(time.Second))
	if err := c.store.WantPassages(ctx, timeline.Local); err != nil {
		return err
	}
	if err := c.keep(ctx); err != nil {
		return err
	}
	stored := recall.NewLibrary(c.store, recall.LibraryOptions{Model: c.model, Memory: 1})
	defer stored.Close()
	fmt.Printf("%-28s %7s  %7s %7s  %7s\n", "search", "budget", "part", "whole", "median")
	for _, budget := range []int{2048, 4096} {
		for _, by := range []struct {
			name string
			l    *recall.Library
			mode recall.Mode
		}{
			{"memory, words", memory, recall.Keyword}, {"database, words", stored, recall.Keyword},
			{"memory, words and meaning", memory, recall.Hybrid},
			{"database, words and meaning", stored, recall.Hybrid},
		} {
			part, whole, took, err := c.ask(ctx, by.l, where, recall.RecallOptions{Budget: budget, Mode: by.mode})
			if err != nil {
				return err
			}
			fmt.Printf("%-28s %7d  %6.1f%% %6.1f%%  %7v\n", by.name, budget, 100*part, 100*whole,
				took.Round(100*time.Microsecond))
		}
	}
	if st := stored.Stats(); st.Scopes != 0 {
		return fmt.Errorf("%w: %d scopes were searched in memory", kit.ErrFailed, st.Scopes)
	}
	return nil
}

// keep has recall.Fill keep the passages of all messages.
func (c *comparison) keep(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go recall.Fill(ctx, c.store, recall.FillOptions{Model: c.model, Tenants: c.store.Tenants, Every: time.Millisecond,
		Settle: -1, Report: func(err error) {
			select {
			case failed <- err:
			default:
			}
		}})
	all, err := c.store.Conversations(ctx, timeline.Local)
	if err != nil {
		return err
	}
	began := time.Now()
	for {
		to, _, err := c.store.PassagesTo(ctx, timeline.Local, "vector/"+c.model.Name())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(x timeline.Conversation) bool { return to[x.Head.Trunk] < x.Head.Depth }) {
			fmt.Printf("kept in the database in %v\n", time.Since(began).Round(time.Second))
			return nil
		}
		select {
		case err := <-failed:
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// ask asks all questions, and returns the share of the evidence that was shown and the
// median of the time that a question took.
func (c *comparison) ask(ctx context.Context, l *recall.Library, where recall.Where,
	o recall.RecallOptions) (part, whole float64, median time.Duration, err error) {
	var took []time.Duration
	for _, q := range c.questions {
		began := time.Now()
		r, err := l.Recall(ctx, where, q.text, o)
		if err != nil {
			return 0, 0, 0, fmt.Errorf("%s: %w", q.text, err)
		}
		took = append(took, time.Since(began))
		p, w := c.shown(r)
		for _, e := range q.evidence {
			if w[e] {
				whole += 1 / float64(len(q.evidence))
			}
			if w[e] || p[e] {
				part += 1 / float64(len(q.evidence))
			}
		}
	}
	slices.Sort(took)
	n := float64(len(c.questions))
	return part / n, whole / n, took[len(took)/2], nil
}

// shown returns the messages of which a result shows a part of at least 200 characters, and
// those that it shows as a whole.
func (c *comparison) shown(r *recall.Result) (part, whole map[string]bool) {
	text := quote.Undo(r.Text)
	part, whole = map[string]bool{}, map[string]bool{}
	for _, p := range r.Passages {
		name, _, other := strings.Cut(p.Block, "#")
		if !other {
			name = c.first
		}
		k := key(name, p.Ref)
		if len([]rune(p.Text)) >= 200 && strings.Contains(text, p.Text) {
			part[k] = true
		}
		if said := c.texts[k]; said != "" && strings.Contains(text, said) {
			whole[k] = true
		}
	}
	return part, whole
}
