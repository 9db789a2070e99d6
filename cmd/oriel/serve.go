package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/internal/term/lines"
	"github.com/oriel-context/oriel/timeline"
)

func serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the proxy",
		Long: `Run a proxy between your programs and the providers of their models. Programs set their
base URL to the address that is printed. Requests within the budget are forwarded
unchanged; larger ones are cut to fit, and their beginning stays the same from call to
call. The profile sets the budget: balanced (the default) allows 100,000 tokens and
everything that people wrote, full as much as the model accepts, and off cuts nothing.
Answers are streamed back as they arrive.

Upstream URLs have the form of the base URLs of the vendors' SDKs; any server that
speaks their API will do. The provider's key is passed on, and neither stored nor logged.

On loopback, the default, only programs of this machine are served. To listen
elsewhere, make tokens with oriel token add, or give one token of your own for all, of
at least 16 characters: clients send it as the header X-Oriel-Token, or have /k/TOKEN
before the path in their base URL. Other users of this machine can see --token;
$ORIEL_TOKEN is not seen.

oriel config shows the settings. Changes of the file are applied within seconds without
dropping a connection; the log names settings that need a restart.

If the history cannot be opened or written, calls wait on disk until it can. The
first interrupt lets running answers finish, the second one ends them. The log on
standard error has a line for each request, and one more with the cost when a call is
recorded; on a terminal, one short line for each recorded call and what goes wrong. -q
leaves out the lines of calls that went well. If nobody reads the log, lines are dropped and counted, and calls go on.`,
		Example: `  oriel serve
  oriel serve --listen 127.0.0.1:9000 --upstream-openai http://localhost:11434/v1
  ORIEL_TOKEN=$(openssl rand -hex 16) oriel serve --listen 0.0.0.0:8780`,
		Args: noArguments,
	}
	flags := addSettings(cmd)
	var quiet bool
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "log only what goes wrong")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		sources, err := flags.sources()
		if err != nil {
			return err
		}
		loaded, err := loadSettings(sources)
		if err != nil {
			return err
		}
		return serveSettings(cmd, sources, loaded, quiet)
	}
	return cmd
}

// serveSettings serves by the settings and follows their changes.
func serveSettings(cmd *cobra.Command, sources settings.Sources, loaded *settings.Loaded, quiet bool) error {
	// A reader of this output that stops or dies must not stop the server.
	signal.Ignore(syscall.SIGPIPE)
	errOut, out := logLines(cmd.ErrOrStderr()), lines.New(cmd.OutOrStdout(), lines.Options{})
	defer errOut.Close(outputWait)
	defer out.Close(outputWait)
	log := slog.New(slog.NewTextHandler(errOut, nil))
	calls := callLog{
		out: errOut, screen: cmd.ErrOrStderr(), terminal: term.IsTerminal(cmd.ErrOrStderr()), quiet: quiet,
		style: term.StyleOf(cmd.ErrOrStderr()), models: loaded.Table,
	}
	slog.SetDefault(calls.log()) // net/http writes to the standard log
	live := newLiveSettings(log)
	defer live.Stop()
	o, err := live.Begin(loaded)
	if err != nil {
		return err
	}
	o.Team, o.Proxy.Log = true, calls.log()
	data := &history{dir: loaded.Data, url: loaded.Store, given: true}
	o.Events, o.ErrOut, o.Fill = loaded.Events, errOut, true
	o.OnEvent = calls.recorded()
	o.LogDropped, o.SettingsHeld, o.Settings = errOut.Dropped, live.Held, live.Current
	if live.Open && loaded.Token == "" {
		if err := data.checkTokens(cmd.Context(), loaded, log); err != nil {
			return err
		}
	}
	g, err := openServer(cmd.Context(), data, o)
	if err != nil {
		return err
	}
	defer g.Shutdown()
	live.Use(g, loaded)
	l, err := net.Listen("tcp", loaded.Listen)
	if err != nil {
		return &failure{fmt.Errorf("%w: %s", err, listenHint(err))}
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	defer live.Watch(sources)()
	printAddresses(out, l.Addr().(*net.TCPAddr), o.Proxy, loaded)
	if err := serveUntil(cmd.Context(), signals, g.Server, l); err != nil {
		return &failure{err}
	}
	return nil
}

// listenHint returns what to do about an address that cannot be listened at.
func listenHint(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "ports below 1024 need root: choose a higher one with --listen"
	}
	return "is oriel already running there? --listen 127.0.0.1:0 takes a free port"
}

// checkTokens refuses to serve others if nobody has a token. A history that cannot be read
// does not keep a server from starting: clients are refused until it can.
func (h *history) checkTokens(ctx context.Context, l *settings.Loaded, log *slog.Logger) error {
	all, err := h.tokens(ctx)
	if err != nil && !errors.Is(err, errNoHistory) {
		log.Error("the tokens of clients cannot be read: everybody is refused until they can", "error", err)
		return nil
	}
	if !slices.ContainsFunc(all, func(t timeline.AccessToken) bool {
		return t.Valid(time.Now()) &&
			t.Role != timeline.RoleConsole
	}) {
		return fmt.Errorf("%w to listen at %s, where others can reach it: make one with oriel token add --tenant NAME, give one with --token or $ORIEL_TOKEN, or listen at 127.0.0.1", proxy.ErrToken, l.Listen)
	}
	return nil
}

// serveUntil serves. The first signal lets running answers end, the second
// ends at once.
func serveUntil(ctx context.Context, signals <-chan os.Signal, server *proxy.Server, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for _, act := range []func(){cancel, func() { server.Close() }} {
			select {
			case <-signals:
				act()
			case <-ended:
				return
			}
		}
	}()
	return server.Serve(ctx, l)
}

// printAddresses prints where the proxy listens and how a program uses it.
func printAddresses(w io.Writer, a *net.TCPAddr, o proxy.Options, loaded *settings.Loaded) {
	host, prefix, login := a.IP.String(), "", ""
	if a.IP.IsUnspecified() {
		host = "127.0.0.1"
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	if len(o.Tokens) > 0 || !a.IP.IsLoopback() {
		prefix, login = "/k/$ORIEL_TOKEN", "#token=$ORIEL_TOKEN"
	}
	at := "http://" + net.JoinHostPort(host, fmt.Sprint(a.Port))
	base := at + prefix
	bedrock := "none (--upstream-bedrock)"
	if o.Bedrock != "" {
		bedrock = settings.WithoutKeys(o.Bedrock)
	}
	used, others := profileLines(loaded.Profile, loaded.ProfileTable)
	fmt.Fprintf(w, `oriel listens at %s
  OpenAI     %s
  Anthropic  %s
  Gemini     %s
  Ollama     %s
  Bedrock    %s
  profile    %s
             %s
  console    %s

export OPENAI_BASE_URL=%s/v1
export ANTHROPIC_BASE_URL=%s
export GOOGLE_GEMINI_BASE_URL=%s
export OLLAMA_HOST=%s
`, a, settings.WithoutKeys(o.OpenAI), settings.WithoutKeys(o.Anthropic), settings.WithoutKeys(o.Gemini),
		settings.WithoutKeys(o.Ollama), bedrock, used, others, at+"/oriel/"+login, base, base, base, base)
}

// newLiveSettings returns the settings of a server that can change while it runs.
func newLiveSettings(log *slog.Logger) *serve.LiveSettings {
	return &serve.LiveSettings{Log: log, Version: version(), Waits: serverWaits()}
}

// openServer opens a server on a history.
func openServer(ctx context.Context, data *history, o serve.Options) (*serve.Gateway, error) {
	var err error
	if o.Place, err = data.place(); err != nil {
		return nil, err
	}
	g, err := serve.Open(ctx, o)
	if errors.Is(err, serve.ErrEvents) {
		err = &failure{err}
	}
	return g, err
}
