package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/mcp"
	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func mcpCommand() *cobra.Command {
	var conversation string
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the history to an agent over MCP",
		Long: `Serve the history over the Model Context Protocol, on standard input and output, so that
an agent can search and read what is no longer in its window. Agents start it themselves;
oriel setup AGENT prints how. oriel run registers one of its own, which knows the agent's
conversation.

The tools are recall, read, list_conversations, directives, change_directive, pin, unpin
and undo; conversations are also resources. --conversation is the default of all tools;
without it recall searches all conversations, and scope "project" those of the folder that
oriel mcp was started in. --read-only leaves out change_directive, pin, unpin and undo.
Private conversations (oriel private) are for their own agent only.

It works beside a server on the same data folder. Nothing but the protocol is written to
standard output.

A proxy serves the same at /oriel/mcp over streamable HTTP.`,
		Example: `  oriel mcp
  oriel mcp --read-only --conversation last
  claude mcp add oriel -- oriel mcp`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&conversation, "conversation", "", "`id` of the conversation that the tools use if they name none")
	f.BoolVar(&readOnly, "read-only", false, "leave out the tools that change anything")
	data := addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		tenant, err := data.tenantName()
		if err != nil {
			return err
		}
		if term.IsTerminal(cmd.InOrStdin()) {
			fmt.Fprintln(cmd.ErrOrStderr(), `oriel: an agent starts this by itself, and speaks to it on standard input:
  claude mcp add oriel -- oriel mcp   registers it with Claude Code
  oriel setup AGENT                   shows how others do
Ctrl-C ends it`)
		}
		h := &mcpHistory{data: data, tenant: tenant, readOnly: readOnly}
		defer h.shutDown()
		server := mcp.New(mcp.Options{
			Open: h.open, Tenant: tenant, Conversation: conversation, Project: workingFolder(), ReadOnly: readOnly,
			Version: version(),
		})
		pipe := newAnsweredInput(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		err = server.Run(cmd.Context(), &sdk.IOTransport{Reader: pipe, Writer: pipe})
		if err == nil || errors.Is(err, io.EOF) || cmd.Context().Err() != nil {
			return nil
		}
		return &failure{err}
	}
	return cmd
}

// mcpHistory opens the history when a tool first needs it: an agent starts its servers
// before its first call, which may be the first there is.
type mcpHistory struct {
	data     *history
	tenant   string
	readOnly bool

	mu      sync.Mutex // protects what follows
	history *mcp.History
	closers []func()
}

// searchFor is how long a search of an agent makes vectors. A server on the same history
// makes the others.
const searchFor = 300 * time.Millisecond

func (h *mcpHistory) open(ctx context.Context) (*mcp.History, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.history != nil {
		return h.history, nil
	}
	store, err := h.data.open(ctx, sqlite.Options{MustExist: true, ReadOnly: h.readOnly})
	if errors.Is(err, sqlite.ErrReadOnly) {
		store, err = h.data.open(ctx, sqlite.Options{ReadOnly: true})
	}
	if errors.Is(err, errNoHistory) {
		return nil, errors.New("the history is empty: nothing was recorded yet, go on without it")
	}
	if err != nil {
		return nil, err
	}
	h.closers = append(h.closers, func() { store.Close() })
	config := oriel.Config{Learnt: serve.LearntOf(store, "the database"), NoEmbed: true, NoEmbedItems: true}
	if config.Learnt == nil {
		if config.Dir, err = h.data.folder(); err != nil {
			return nil, err
		}
	}
	if e, err := embedSettings(); err == nil {
		if model, closeModel, err := serve.OpenModel(e, 1); err == nil { // else by words alone
			config.Embed, config.NoEmbed = model, false
			h.closers = append(h.closers, closeModel)
		}
	}
	in := call.With(context.WithoutCancel(ctx), call.Inside{SearchFor: searchFor})
	engine, err := tenantStore{store, h.tenant}.engine(in, config)
	if err != nil {
		return nil, err
	}
	h.closers = append(h.closers, func() { engine.Close() })
	h.history = &mcp.History{Store: store, Engine: engine}
	return h.history, nil
}

// shutDown closes everything in reverse order.
func (h *mcpHistory) shutDown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.closers) > 0 {
		last := len(h.closers) - 1
		h.closers[last]()
		h.closers = h.closers[:last]
	}
}
