package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/record"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/window"
)

func serveCommand() *cobra.Command {
	var listen, openAI, anthropic, token, sync, profile string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Stand between your programs and their models",
		Long: `Stand between your programs and the providers of their models: every request goes
upstream with the bytes that came, every answer comes back as it is sent, part by
part. Programs set their base URL to the address that is printed.

Upstream URLs are those that the vendors' SDKs take as base URL; any server that
speaks their API will do. The provider's key is passed on, and neither kept nor logged.

On loopback, the default, only programs of this machine are served. To listen
elsewhere, give a token of your own: clients send it as the header X-Oriel-Token, or
have /k/TOKEN before the path in their base URL. Other users of this machine can see
--token; $ORIEL_TOKEN is not seen.

A history that cannot be opened is reported, and the calls go through all the same.
The first interrupt lets running answers end, the second ends at once. There is a line
on standard error for each request.`,
		Example: `  oriel serve
  oriel serve --listen 127.0.0.1:9000 --upstream-openai http://localhost:11434/v1
  ORIEL_TOKEN=… oriel serve --listen 0.0.0.0:8780`,
		Args: noArguments,
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8780", "`address` to listen at, HOST:PORT; port 0 takes a free one")
	f.StringVar(&openAI, "upstream-openai", "", "base `URL` for OpenAI's API (default $ORIEL_UPSTREAM_OPENAI, else "+proxy.DefaultOpenAI+")")
	f.StringVar(&anthropic, "upstream-anthropic", "", "base `URL` for Anthropic's API (default $ORIEL_UPSTREAM_ANTHROPIC, else "+proxy.DefaultAnthropic+")")
	f.StringVar(&token, "token", "", "`token` that clients must send (default $ORIEL_TOKEN, else none, which is for loopback only)")
	f.StringVar(&sync, "sync", "normal", "what survives the loss of power: normal (all but the last moments) or full (everything)")
	f.StringVar(&profile, "profile", "off", "how much of a request is sent: off (all of it), or one of "+strings.Join(window.Profiles(), ", ")+"; X-Oriel-Profile and /p/NAME/ in the base URL choose another")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		level, err := syncLevel(sync)
		if err != nil {
			return err
		}
		if _, err := window.LookupProfile(profile); err != nil {
			return fmt.Errorf("--profile: %w", err)
		}
		o := proxy.Options{
			Listen:    listen,
			OpenAI:    cmp.Or(openAI, os.Getenv("ORIEL_UPSTREAM_OPENAI"), proxy.DefaultOpenAI),
			Anthropic: cmp.Or(anthropic, os.Getenv("ORIEL_UPSTREAM_ANTHROPIC"), proxy.DefaultAnthropic),
			Version:   version(),
			Log:       slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)),
		}
		if t := cmp.Or(token, os.Getenv("ORIEL_TOKEN")); t != "" {
			o.Tokens = map[string]string{t: timeline.Local}
		}
		if _, err := proxy.New(o); err != nil {
			return err // before anything is opened or made
		}
		store, broken := data.serve(cmd.Context(), level)
		if broken != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "oriel: THE HISTORY CANNOT BE OPENED, calls go through unrecorded: %s\n", strings.Join(strings.Fields(broken.Error()), " "))
			o.Store = func(context.Context) error { return broken }
		} else {
			defer store.Close()
			library, closeLibrary, err := openLibrary(store, profile)
			if err != nil {
				return &failure{err}
			}
			defer closeLibrary()
			recorder := record.New(record.Options{Store: store, Log: o.Log, Profile: profile, Recall: library})
			defer closeRecorder(recorder, o.Log)
			o.Recorder, o.RecordTimeout = recorder, viewWait
			o.Store = func(ctx context.Context) error {
				if _, err := store.Conversation(ctx, timeline.Local, "?"); !errors.Is(err, timeline.ErrNoConversation) {
					return err
				}
				return nil
			}
		}
		server, err := proxy.New(o)
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return &failure{fmt.Errorf("%w: is another one running there? --listen 127.0.0.1:0 takes a free port", err)}
		}
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		printAddresses(cmd.OutOrStdout(), l.Addr().(*net.TCPAddr), o)
		if err := serveUntil(cmd.Context(), signals, server, l); err != nil {
			return &failure{err}
		}
		return nil
	}
	return cmd
}

// viewWait is the longest that a call waits for what is to be sent of it: only the
// store and recall have shorter limits of their own, for a request that is too large
// is refused if it is sent as it came.
const viewWait = 2 * time.Second

// openLibrary makes what finds in the history what views no longer show; nil where
// nothing is ever left out.
func openLibrary(store timeline.Store, profile string) (*recall.Library, func(), error) {
	if profile == "off" {
		return nil, func() {}, nil
	}
	model, err := minilm.Open(minilm.Options{Threads: 1})
	if err != nil {
		return nil, nil, err
	}
	library := recall.NewLibrary(store, recall.LibraryOptions{Model: model})
	return library, func() {
		library.Close()
		model.Close()
	}, nil
}

// recordWait is how long the last calls may take to be written when the server ends.
const recordWait = 30 * time.Second

// closeRecorder waits for the last calls to be written.
func closeRecorder(r *record.Recorder, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), recordWait)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		log.Error("calls were lost at the end", "error", err)
	}
}

// serve opens the history to record into, and makes it where there is none.
func (h *history) serve(ctx context.Context, level sqlite.Sync) (timeline.Store, error) {
	dir, err := h.folder()
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, dir, sqlite.Options{Sync: level})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Clean(dir), err)
	}
	return store, nil
}

// serveUntil serves; the first signal lets running answers end, the second ends at
// once.
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

// printAddresses tells where the proxy is and what a program needs to use it.
func printAddresses(w io.Writer, a *net.TCPAddr, o proxy.Options) {
	host, prefix := a.IP.String(), ""
	if a.IP.IsUnspecified() {
		host = "127.0.0.1"
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	if len(o.Tokens) > 0 {
		prefix = "/k/$ORIEL_TOKEN"
	}
	base := "http://" + net.JoinHostPort(host, fmt.Sprint(a.Port)) + prefix
	fmt.Fprintf(w, `oriel listens at %s
  OpenAI     %s
  Anthropic  %s

export OPENAI_BASE_URL=%s/v1
export ANTHROPIC_BASE_URL=%s
`, a, o.OpenAI, o.Anthropic, base, base)
}

// version is that of the module this program was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
