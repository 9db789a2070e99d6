package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/demo"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/term"
)

// demoBudget is the window of the demonstration in tokens. It is small, so
// that a session of a minute is cut often enough to show how.
const demoBudget = 20_000

// demoRecall is how long a call waits for recall. It is long, because the
// machine may be busy compiling this program.
const demoRecall = time.Minute

func demoCommand() *cobra.Command {
	var listen, dir string
	var fast, exit bool
	cmd := &cobra.Command{
		Use:        "demo",
		SuggestFor: []string{"try", "example"},
		Short:      "Watch a long agent session in a small window: no key, no network",
		Long: `Watch a coding agent's session go through the proxy in a window of 20,000 tokens. The
session, its code base and the model are built in; the agent, the proxy and the
history are real. No key is needed and nothing leaves this machine.

Each call is a line. Its bar shows what the model gets, followed by a dashed part up to
what the agent sent; the figures are both in tokens. During the session one fact that was
cut is recalled when the agent needs it, and one cut is undone. The bill at the end
compares the session with and without Oriel. All figures are measured in this run.

The history is in a temporary folder unless --data names one. On a terminal the server
keeps running afterwards until you interrupt it, so that you can look around.`,
		Example: "  oriel demo\n  oriel demo --fast --exit\n  oriel demo --data demo-history",
		Args:    noArguments,
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:0", "`address` to listen at, HOST:PORT; port 0 takes a free one")
	f.StringVar(&dir, "data", "",
		"new `folder` for the history, which is kept (default: one that is removed at the end)")
	f.BoolVar(&fast, "fast", false, "do not pause for people to watch")
	f.BoolVar(&exit, "exit", false,
		"end after the session instead of keeping the server running; the default without a terminal")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
			syscall.SIGPIPE)
		defer stop()
		watched := term.IsTerminal(cmd.OutOrStdout())
		s := newDemoScreen(cmd.OutOrStdout(), watched && !fast)
		s.done = ctx.Done()
		err := runDemo(ctx, s, listen, dir, watched && !exit)
		if ctx.Err() != nil {
			return nil // interrupted, which is the normal end
		}
		return err
	}
	return cmd
}

// runDemo shows the session. With stay it keeps the server running until ctx
// ends.
func runDemo(ctx context.Context, s *demoScreen, listen, dir string, stay bool) (err error) {
	data, remove, err := demoFolder(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	model, err := demo.NewModel()
	if err != nil {
		return &failure{err}
	}
	modelAt, endModel, err := serveModel(model)
	if err != nil {
		return &failure{err}
	}
	defer endModel()
	notes := newDemoNotes()
	o := proxy.Options{Listen: listen, OpenAI: modelAt, Anthropic: modelAt, Gemini: modelAt, Ollama: modelAt,
		ChatGPT: modelAt, Bedrock: modelAt, Version: version(),
		Log: slog.New(slog.DiscardHandler)}
	if _, err := proxy.New(o); err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return &failure{fmt.Errorf("%w: %s", err, listenHint(err))}
	}
	g, err := openServer(ctx, data, serve.Options{Proxy: o, Waits: serverWaits(),
		Calls: oriel.CallOptions{Profile: "thrifty", RecallWait: demoRecall}, OnEvent: notes.add, ErrOut: io.Discard})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer g.Shutdown()
	if g.HistoryErr() != nil {
		return errors.Join(&failure{fmt.Errorf("the history cannot be opened in %s: give another folder with --data",
			data.dir)}, l.Close())
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- g.Server.Serve(serving, l) }()
	story := &demoStory{screen: s, data: data, model: model, notes: notes, url: "http://" + l.Addr().String()}
	err = story.tell(ctx)
	if err == nil && stay {
		story.invite()
		<-ctx.Done()
	}
	end()
	return errors.Join(err, <-served)
}

// serveModel serves the built-in model on a port of its own: the proxy reaches
// it like any other.
func serveModel(m *demo.Model) (url string, end func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: m}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.Serve(l)
	}()
	return "http://" + l.Addr().String(), func() {
		server.Close()
		<-ended
	}, nil
}

// demoFolder returns the folder of the history: a given one that has no
// history yet, or a temporary one that is removed.
func demoFolder(dir string) (*history, func() error, error) {
	if dir == "" {
		dir, err := os.MkdirTemp("", "oriel-demo-")
		if err != nil {
			return nil, nil, &failure{err}
		}
		return &history{dir: dir, given: true}, func() error { return os.RemoveAll(dir) }, nil
	}
	dir, err := filepath.Abs(dir) // for people to copy
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "oriel.db"))
	}
	switch {
	case err == nil:
		return nil, nil, fmt.Errorf("there is a history in %s already: name a new folder with --data", dir)
	case errors.Is(err, fs.ErrPermission):
		return nil, nil, &failure{serve.AnothersFolder(dir)}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, &failure{err}
	}
	return &history{dir: dir, given: true}, func() error { return nil }, nil
}

// ourName returns how to run this program, for people to copy: its name if a
// shell finds it.
func ourName() string {
	self, err := os.Executable()
	if err != nil {
		return "oriel"
	}
	if found, err := exec.LookPath("oriel"); err == nil && found == self {
		return "oriel"
	}
	cache := os.Getenv("GOCACHE") // go run may have put the program there
	if strings.Contains(filepath.ToSlash(self), "/go-build") || cache != "" && strings.HasPrefix(self, cache) {
		return "go run ./cmd/oriel"
	}
	return self
}

// demoNotes receives the events of the proxy.
type demoNotes struct {
	events chan oriel.Event
}

func newDemoNotes() *demoNotes { return &demoNotes{make(chan oriel.Event, 1024)} }

func (n *demoNotes) add(e oriel.Event) {
	select {
	case n.events <- e:
	default: // nobody has read for a long time: the session is over
	}
}

// call waits until a call is written, and returns the events up to then.
func (n *demoNotes) call(ctx context.Context) (all []oriel.Event, err error) {
	for {
		select {
		case e := <-n.events:
			all = append(all, e)
			switch e.Kind {
			case oriel.EventCall:
				return all, nil
			case oriel.EventOpen, oriel.EventUnknown, oriel.EventOverflow:
				return nil, fmt.Errorf("%s: %s", e.Kind, e.Error)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
