package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/timeline"
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
		g, err := openGateway(cmd.Context(), gatewayOptions{
			proxy: o, data: data, sync: level, profile: profile, thresholds: percents, condensing: condensing, events: events, errOut: cmd.ErrOrStderr(),
		})
		if err != nil {
			return err
		}
		defer g.close()
		for _, w := range warnings {
			o.Log.Warn("a setting is not used as given", "warning", w)
		}
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return &failure{fmt.Errorf("%w: is another one running there? --listen 127.0.0.1:0 takes a free port", err)}
		}
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		printAddresses(cmd.OutOrStdout(), l.Addr().(*net.TCPAddr), o)
		if err := serveUntil(cmd.Context(), signals, g.server, l); err != nil {
			return &failure{err}
		}
		return nil
	}
	return cmd
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
