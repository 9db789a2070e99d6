package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/term"
)

func topCommand() *cobra.Command {
	var address, token string
	var once, asJSON bool
	cmd := &cobra.Command{
		Use:        "top",
		SuggestFor: []string{"watch", "live", "monitor", "calls"},
		Short:      "Show live calls, and pin or undo, in a terminal",
		Long: `Show the newest calls of a running oriel serve or oriel run, and the messages of the
chosen call's conversation: which were sent as they came, shortened, cleared, folded into
the digest or left out. The screen follows the calls as they happen.

Keys: up and down choose a call, left and right a message, p pins or unpins it, u undoes
the newest plan after asking, with what would be left out for it, / filters, ? explains the
screen, q quits.

The server is the one of the settings on this machine, or that of --url: the address that
oriel serve prints, or the one of its console. A server with tokens needs one.`,
		Example: `  oriel top
  oriel top --url http://127.0.0.1:8780
  ORIEL_TOKEN=… oriel top --url https://oriel.example
  oriel top --once
  oriel top --json | jq .overview.today`,
		Args: noArguments,
	}
	cmd.Flags().StringVar(&address, "url", "",
		"`address` of the server (default: that of the settings, http://127.0.0.1:8780)")
	cmd.Flags().StringVar(&token, "token", "", "`token` of the server (default $ORIEL_TOKEN)")
	cmd.Flags().BoolVar(&once, "once", false, "print the screen once and end")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answers of the server once, as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if address == "" {
			sources := configSources("")
			sources.Env = os.Getenv
			loaded, err := loadSettings(sources)
			if err != nil {
				return err
			}
			address = "http://" + dialed(loaded.Listen)
		}
		if token == "" {
			token = os.Getenv("ORIEL_TOKEN")
		}
		client, err := newTopClient(address, token)
		if err != nil {
			return err
		}
		switch {
		case asJSON:
			return topJSON(cmd, client)
		case once:
			return topOnce(cmd, client)
		}
		return topLive(cmd, client)
	}
	return cmd
}

// dialed returns the address at which this machine reaches a listener: one at all addresses
// is also at loopback.
func dialed(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if a, err := netip.ParseAddr(host); host == "" || err == nil && a.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// topLive runs the screen.
func topLive(cmd *cobra.Command, client *topClient) error {
	in, out := term.File(cmd.InOrStdin()), term.File(cmd.OutOrStdout())
	if in == nil || out == nil {
		return errors.New("oriel top needs a terminal: use --once or --json for a script")
	}
	var first topOverview // a mistake in the address is reported before the screen changes
	if err := client.ask(cmd.Context(), http.MethodGet, "overview", nil, &first); err != nil {
		return &failure{err}
	}
	width, height, err := term.Size(out)
	if err != nil {
		return &failure{fmt.Errorf("read the size of the terminal: %w", err)}
	}
	s := &topScreen{model: newTopModel(client.base, width, height, term.StyleOf(out)), client: client, in: in, out: out,
		news: make(chan func(*topModel) topJob)}
	return s.run(cmd.Context())
}

// topOnce prints the screen, as high as it needs to be.
func topOnce(cmd *cobra.Command, client *topClient) error {
	m := newTopModel(client.base, term.Width(cmd.OutOrStdout()), 1000, term.StyleOf(cmd.OutOrStdout()))
	for job := topJob(refreshTop); job != nil; {
		job = job(cmd.Context(), client)(m)
	}
	if m.gone != "" || m.note != "" {
		return &failure{errors.New(m.gone + m.note)}
	}
	var b bytes.Buffer
	for _, line := range m.head() {
		fmt.Fprintln(&b, line)
	}
	for _, line := range m.callLines(max(2, 1+len(m.calls))) {
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	if m.strip != nil {
		for _, line := range m.paneLines(24) {
			fmt.Fprintln(&b, strings.TrimRight(line, " "))
		}
	}
	_, err := cmd.OutOrStdout().Write(b.Bytes())
	return err
}

// topJSON prints what the server answers.
func topJSON(cmd *cobra.Command, client *topClient) error {
	ctx := cmd.Context()
	var all struct {
		Overview json.RawMessage `json:"overview"`
		// Strip is that of the conversation with the newest call; absent if there is none.
		Strip json.RawMessage `json:"strip,omitempty"`
	}
	if err := client.ask(ctx, http.MethodGet, "overview", nil, &all.Overview); err != nil {
		return &failure{err}
	}
	var o topOverview
	if err := json.Unmarshal(all.Overview, &o); err != nil {
		return &failure{fmt.Errorf("read the answer of %s: %w", client.base, err)}
	}
	if len(o.Live) > 0 {
		if err := stripOf(ctx, client, &o.Live[0], &all.Strip); err != nil {
			return &failure{err}
		}
	}
	return printJSON(cmd.OutOrStdout(), all)
}

// stripOf reads the strip of a call.
func stripOf(ctx context.Context, client *topClient, c *topCall, out any) error {
	return client.ask(ctx, http.MethodGet, conversationPath(c.Conversation, "/strip?call="+c.ID), nil, out)
}
