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
	"slices"
	"strconv"
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
	var listen, openAI, anthropic, token, sync, profile, events string
	var thresholds, origins []string
	var c condenseFlags
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
	f.StringArrayVar(&origins, "origin", nil, "`origin` of web pages that may send requests without a token, such as https://chat.example, beside pages of this machine")
	f.StringVar(&sync, "sync", "normal", "what survives the loss of power: normal (all but the last moments) or full (everything)")
	f.StringVar(&profile, "profile", "off", "how much of a request is sent: off (all of it), or one of "+strings.Join(window.Profiles(), ", ")+"; X-Oriel-Profile and /p/NAME/ in the base URL choose another")
	f.StringArrayVar(&thresholds, "threshold", nil, "`percent` of the model's window at which something leaves, 5 to 100, for all profiles or, as NAME=percent, for one; -1 means that for all (default 100)")
	f.StringVar(&events, "events", "", "`file` to add a line of JSON to for everything that happens")
	c.add(cmd)
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		level, err := syncLevel(sync)
		if err != nil {
			return err
		}
		if _, err := window.LookupProfile(profile); err != nil {
			return fmt.Errorf("--profile: %w", err)
		}
		percents, warnings, err := parseThresholds(thresholds)
		if err != nil {
			return err
		}
		condensing, closeCondensing, err := c.open()
		if err != nil {
			return err
		}
		defer closeCondensing()
		o := proxy.Options{
			Listen:    listen,
			OpenAI:    cmp.Or(openAI, os.Getenv("ORIEL_UPSTREAM_OPENAI"), proxy.DefaultOpenAI),
			Anthropic: cmp.Or(anthropic, os.Getenv("ORIEL_UPSTREAM_ANTHROPIC"), proxy.DefaultAnthropic),
			Origins:   origins,
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
			for _, w := range warnings {
				o.Log.Warn("a setting is not used as given", "warning", w)
			}
			r := record.Options{Store: store, Log: o.Log, Profile: profile, Recall: library, Thresholds: percents, Condense: condensing}
			if events != "" {
				file, err := record.OpenEvents(events, 0)
				if err != nil {
					return &failure{err}
				}
				defer closeEvents(file, o.Log)
				r.Events = file.Write
			}
			learnt, err := data.learnt()
			if learnt == nil {
				return &failure{err}
			}
			if err != nil {
				o.Log.Warn("what was learnt of providers is lost", "error", err)
			}
			defer saveLearnt(learnt, o.Log)
			r.Limits, r.Calibration, r.Learnt = learnt.Limits, learnt.Calibration, learnt.Save
			recorder := record.New(r)
			defer closeRecorder(recorder, o.Log)
			o.Recorder, o.RecordTimeout = recorder, viewWait
			if condensing != nil && condensing.Inline {
				o.RecordTimeout += condensing.Wait
			}
			o.Store = func(ctx context.Context) error {
				if _, err := store.Conversation(ctx, timeline.Local, "?"); !errors.Is(err, timeline.ErrNoConversation) {
					return err
				}
				return recorder.Err()
			}
			boundMemory(library != nil)
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

// learnt is what was learnt of providers, in the data folder.
func (h *history) learnt() (*record.Learnt, error) {
	dir, err := h.folder()
	if err != nil {
		return nil, err
	}
	return record.OpenLearnt(filepath.Join(dir, "learnt.json"))
}

func saveLearnt(l *record.Learnt, log *slog.Logger) {
	if err := l.Save(); err != nil {
		log.Error("what was learnt of providers is lost", "error", err)
	}
}

func closeEvents(f *record.EventFile, log *slog.Logger) {
	if err := f.Close(); err != nil {
		log.Error("events were lost", "error", err)
	}
}

// parseThresholds reads percents for all profiles, or for one as NAME=PERCENT. Numbers
// that cannot be used warn (SPEC B4).
func parseThresholds(list []string) (t window.Thresholds, warnings []string, err error) {
	t.Profiles = map[string]float64{}
	for _, s := range list {
		name, number, one := strings.Cut(s, "=")
		if !one {
			name, number = "", s
		}
		if _, err := window.LookupProfile(name); err != nil {
			return t, nil, fmt.Errorf("--threshold %s: %w", s, err)
		}
		percent, err := strconv.ParseFloat(strings.TrimSuffix(number, "%"), 64)
		if err != nil {
			return t, nil, fmt.Errorf("--threshold %s: %q is no number: give a percent such as 80, or chat=60", s, number)
		}
		if one {
			t.Profiles[name] = percent
		} else if percent != -1 {
			t.Global = percent
		}
	}
	for _, name := range window.Profiles() {
		if _, w := t.For(name); w != "" && !slices.Contains(warnings, w) {
			warnings = append(warnings, w)
		}
	}
	return t, warnings, nil
}

// Memory that the process should stay within, so that bodies which came and went do not
// pile up between two collections: with a library, which has a limit of its own, more.
const (
	serverMemory  = 128 << 20
	libraryMemory = serverMemory + recall.DefaultMemory + recall.DefaultMemory/2
)

// boundMemory makes the collector work for it, unless the user has said something else.
func boundMemory(library bool) {
	switch {
	case os.Getenv("GOMEMLIMIT") != "":
	case library:
		debug.SetMemoryLimit(libraryMemory)
	default:
		debug.SetMemoryLimit(serverMemory)
	}
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
