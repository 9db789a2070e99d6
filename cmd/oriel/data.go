package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/settings/suggest"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/token"
)

// history is the data folder that a command uses, and the database with the history if
// that is not in the folder.
type history struct {
	dir string
	url string
	// given reports that url is known, even if it is empty: else it is $ORIEL_STORE or that
	// of the settings.
	given bool
	// tenant is that of --tenant, for a command that has it: see addTenantHistory.
	tenant *string
}

// addHistory adds the flags that name the data folder and the database.
func addHistory(cmd *cobra.Command) *history {
	h := &history{}
	cmd.Flags().StringVar(&h.dir, "data", "",
		"`folder` of the history (default $ORIEL_DATA, else that of the settings, else the user's data folder)")
	cmd.Flags().Var(storeFlag{h}, "store",
		"`URL` of a PostgreSQL database with the history, postgres://… (default $ORIEL_STORE, else that of the settings, else it is in the folder)")
	return h
}

// addTenantHistory adds the flags of addHistory and the one that names the tenant whose
// conversations the command reads or changes.
func addTenantHistory(cmd *cobra.Command) *history {
	h := addHistory(cmd)
	h.tenant = cmd.Flags().String("tenant", "",
		"`name` of the tenant whose history it is (default $ORIEL_TENANT, else "+timeline.Local+")")
	return h
}

// tenantName returns the tenant whose history a command uses.
func (h *history) tenantName() (string, error) {
	if h.tenant == nil {
		return timeline.Local, nil
	}
	name := cmp.Or(*h.tenant, os.Getenv("ORIEL_TENANT"), timeline.Local)
	return name, checkTenant(name)
}

// tenantStore is a history as a command sees it: that of one tenant.
type tenantStore struct {
	timeline.Store
	tenant string
}

// of returns the history of the command's tenant, which must exist.
func (h *history) of(ctx context.Context, s timeline.Store) (tenantStore, error) {
	name, err := h.tenantName()
	if err != nil || name == timeline.Local {
		return tenantStore{s, name}, err
	}
	if whole, ok := s.(timeline.Whole); ok {
		all, err := whole.Tenants(ctx)
		if err != nil {
			return tenantStore{}, &failure{err}
		}
		if !slices.Contains(all, name) {
			return tenantStore{}, fmt.Errorf("no history of the tenant %q: %s", name, orTenants(all))
		}
	}
	return tenantStore{s, name}, nil
}

// orTenants lists tenants in an error.
func orTenants(all []string) string {
	const most = 10
	if len(all) == 0 {
		return "there is none of any tenant"
	}
	text := "there are histories of " + strings.Join(all[:min(most, len(all))], ", ")
	if n := len(all) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return term.OneLine(text, maxError)
}

// storeFlag is the flag --store. It does not show its value, which may have a password.
type storeFlag struct{ h *history }

func (f storeFlag) String() string {
	if f.h == nil {
		return ""
	}
	return f.h.url
}

func (f storeFlag) Type() string { return "string" }

func (f storeFlag) Set(text string) error {
	f.h.url, f.h.given = text, true
	return checkStore(text)
}

// checkStore refuses what is not the URL of a database. Its error does not quote it.
func checkStore(text string) error {
	if text != "" && !postgres.IsURL(text) {
		return errors.New("a store is the URL of a PostgreSQL database, postgres://user:password@host:5432/database; a folder is given by --data")
	}
	return nil
}

// database returns the URL of the database with the history, or "" if it is in the folder.
func (h *history) database() (string, error) {
	if h.given {
		return h.url, nil
	}
	if url := os.Getenv("ORIEL_STORE"); url != "" {
		return url, checkStore(url)
	}
	l, err := settings.Load(configSources(""))
	if err != nil {
		return "", err
	}
	return l.Store, checkStore(l.Store)
}

// folder returns the data folder, which need not exist.
func (h *history) folder() (string, error) {
	if dir := cmp.Or(h.dir, os.Getenv("ORIEL_DATA")); dir != "" {
		return dir, nil
	}
	if l, err := settings.Load(configSources("")); err != nil {
		return "", err
	} else if l.Data != "" {
		return l.Data, nil
	}
	return serve.UserFolder()
}

// ownFolder returns the data folder of a program that keeps more in it than the history. It
// makes the folder if the history, which else would, is in a database.
func (h *history) ownFolder() (string, error) {
	dir, err := h.folder()
	if err != nil {
		return "", err
	}
	if url, err := h.database(); err != nil || url == "" {
		return dir, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", &failure{err}
	}
	return dir, nil
}

// errNoHistory: nothing has been stored in the data folder.
var errNoHistory = errors.New("no history yet")

// file returns the database file of an existing history, else errNoHistory.
// Commands that only read never create one.
func (h *history) file() (string, error) {
	dir, err := h.folder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "oriel.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w in %s: oriel import brings one in, --data names another folder", errNoHistory, dir)
	} else if errors.Is(err, fs.ErrPermission) {
		return "", &failure{serve.AnothersFolder(dir)}
	} else if err != nil {
		return "", &failure{err}
	}
	return path, nil
}

// open opens an existing history.
func (h *history) open(ctx context.Context, o sqlite.Options) (timeline.Store, error) {
	url, err := h.database()
	if err != nil {
		return nil, err
	}
	if url != "" {
		store, err := postgres.Open(ctx, url, postgres.Options{MustExist: o.MustExist, ReadOnly: o.ReadOnly})
		if errors.Is(err, timeline.ErrNone) {
			return nil, fmt.Errorf("%w in %s: oriel import or oriel copy brings one in", errNoHistory,
				postgres.Redact(url))
		}
		if err != nil {
			return nil, &failure{err}
		}
		return store, nil
	}
	path, err := h.file()
	if err != nil {
		return nil, err
	}
	store, err := openFolder(ctx, filepath.Dir(path), o)
	if err != nil {
		return nil, &failure{err}
	}
	return store, nil
}

// openFolder opens the history in a folder. One of an older version is upgraded first, also
// for a command that only reads, if this user may write.
func openFolder(ctx context.Context, dir string, o sqlite.Options) (*sqlite.Store, error) {
	if serve.IsAnothers(dir) {
		return nil, &failure{serve.AnothersFolder(dir)}
	}
	store, err := sqlite.Open(ctx, dir, o)
	if !errors.Is(err, timeline.ErrOlder) {
		return store, err
	}
	writer, failed := sqlite.Open(ctx, dir, sqlite.Options{MustExist: true})
	if failed != nil {
		return nil, err // which tells more
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, dir, o)
}

// place returns where a server keeps the history and what else it keeps.
func (h *history) place() (p serve.Place, err error) {
	if p.Dir, err = h.ownFolder(); err != nil {
		return p, err
	}
	p.URL, err = h.database()
	return p, err
}

// serve opens the history for recording, and creates it if there is none.
func (h *history) serve(ctx context.Context, level sqlite.Sync, log *slog.Logger) (timeline.Store, error) {
	url, err := h.database()
	if err != nil {
		return nil, err
	}
	p := serve.Place{URL: url}
	if url == "" {
		if p.Dir, err = h.folder(); err != nil {
			return nil, err
		}
		if serve.IsAnothers(p.Dir) {
			return nil, &failure{serve.AnothersFolder(p.Dir)}
		}
	}
	return p.Open(ctx, level, log)
}

// with runs do on an existing history for reading. It creates and changes
// nothing except to upgrade it, and works if this user may not write.
func (h *history) with(ctx context.Context, do func(tenantStore) error) error {
	return h.use(ctx, sqlite.Options{ReadOnly: true}, do)
}

// change runs do on an existing history for changing it.
func (h *history) change(ctx context.Context, do func(tenantStore) error) error {
	return h.use(ctx, sqlite.Options{MustExist: true}, do)
}

// keep runs do on an existing history for reading it and for storing derived
// data, if this user may write.
func (h *history) keep(ctx context.Context, do func(tenantStore) error) error {
	store, err := h.open(ctx, sqlite.Options{MustExist: true})
	if errors.Is(err, sqlite.ErrReadOnly) {
		return h.with(ctx, do)
	}
	return h.finish(ctx, store, err, do)
}

func (h *history) use(ctx context.Context, o sqlite.Options, do func(tenantStore) error) error {
	store, err := h.open(ctx, o)
	return h.finish(ctx, store, err, do)
}

// finish is finish for the command's tenant.
func (h *history) finish(ctx context.Context, store timeline.Store, err error, do func(tenantStore) error) error {
	return finish(store, err, func(timeline.Store) error {
		s, err := h.of(ctx, store)
		if err != nil {
			return err
		}
		return do(s)
	})
}

// finish runs do on an opened store and closes it.
func finish(store timeline.Store, err error, do func(timeline.Store) error) error {
	if err != nil {
		return err
	}
	if err := do(store); err != nil {
		return errors.Join(err, store.Close())
	}
	if err := store.Close(); err != nil {
		return &failure{err}
	}
	return nil
}

// calibration returns what calls through Oriel taught about how models count.
// It is never nil, and empty if nothing is stored.
func (h *history) calibration() (*token.Calibration, error) {
	learnt, end, err := h.learnt()
	defer end()
	if learnt == nil {
		return new(token.Calibration), err
	}
	return learnt.Calibration, err
}

// withConversation runs do on an existing conversation, through the engine.
func (h *history) withConversation(ctx context.Context, name string, do func(*oriel.Conversation) error) error {
	if err := h.with(ctx, func(s tenantStore) error {
		found, err := findConversation(ctx, s, name)
		name = found.Name
		return err
	}); err != nil {
		return err
	}
	dir, err := h.ownFolder()
	if err != nil {
		return err
	}
	store, err := h.open(ctx, sqlite.Options{MustExist: true})
	return h.finish(ctx, store, err, func(s tenantStore) error { return h.withEngine(ctx, dir, s, name, do) })
}

func (h *history) withEngine(ctx context.Context, dir string, s tenantStore, name string,
	do func(*oriel.Conversation) error) error {
	engine, err := s.engine(ctx, oriel.Config{
		Dir: dir, Learnt: serve.LearntOf(s.Store, "the database"), NoEmbed: true,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	c, err := engine.Conversation(ctx, name)
	if err == nil {
		err = do(c)
	}
	if errors.Is(err, oriel.ErrNoItem) {
		return errors.Join(noMessage(ctx, s, name), engine.Close())
	}
	if err != nil {
		return errors.Join(byCause(err), engine.Close())
	}
	if err := engine.Close(); err != nil {
		return &failure{err}
	}
	return nil
}

// engine opens the engine on the history of a command. The caller closes it, before the store.
func (s tenantStore) engine(ctx context.Context, c oriel.Config) (*oriel.Engine, error) {
	c.Store, c.Tenant = s.Store, s.tenant
	e, err := oriel.Open(ctx, c)
	if err != nil {
		return nil, &failure{err}
	}
	return e, nil
}

// cause returns what made an operation of the engine fail, without what a program that calls
// it could do.
func cause(err error) error {
	var known *oriel.Error
	if errors.As(err, &known) {
		return known.Err
	}
	return err
}

// noMessage returns oriel.ErrNoItem in the words of the command line, which calls items of a
// conversation messages.
func noMessage(ctx context.Context, s tenantStore, conversation string) error {
	c, err := s.Conversation(ctx, s.tenant, conversation)
	if err != nil {
		return &failure{err}
	}
	return fmt.Errorf("no such message in conversation %q: there are messages 1 to %d", wholeID(conversation),
		c.Head.Depth)
}

// byCause turns errors of work on a conversation that the user did not cause into
// failures.
func byCause(err error) error {
	for _, theirs := range []error{oriel.ErrNoPlan, oriel.ErrNoDirective, oriel.ErrConfig, oriel.ErrCannotFit,
		oriel.ErrNoConversation, errNotAgreed} {
		if errors.Is(err, theirs) {
			return err
		}
	}
	return &failure{err}
}

// findConversation returns the conversation that a person means; see report.Find.
func findConversation(ctx context.Context, s tenantStore, name string) (timeline.Conversation, error) {
	c, err := report.Find(ctx, s, s.tenant, name)
	if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
		return c, &failure{err}
	}
	return c, err
}

// meaning explains in help texts what a CONVERSATION can be.
const meaning = `CONVERSATION is an id or any unique beginning of one, "last" or "-" for the one
that was used last, or the number of its row in oriel conversations.`

// sinceHelp describes the value of --since; see report.Since.
const sinceHelp = "`when`: today, yesterday, 12h, 7d, 2w, 2026-11-01, 2026-11 or RFC 3339"

// nearNames returns at most three names that name may have meant, quoted.
func nearNames(name string, names []string) []string {
	found := suggest.Names(name, names)
	var out []string
	for _, n := range found[:min(3, len(found))] {
		out = append(out, fmt.Sprintf("%q", term.OneLine(n, 60)))
	}
	return out
}

// oneConversation is for commands that take a conversation and further
// arguments, most arguments in all. names describes them in errors.
func oneConversation(least, most int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("%s: give %s; see %s --help", term.Plural(len(args), "argument", "arguments"), names,
				cmd.CommandPath())
		}
		return nil
	}
}
