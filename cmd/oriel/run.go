package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/internal/term/lines"
	"github.com/oriel-context/oriel/timeline"
)

// Exit codes of shells for a program that cannot be started.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// exit ends this program with a code of its own and, if the error is nil,
// without output.
type exit struct {
	code int
	error
}

func (e *exit) Unwrap() error { return e.error }

// runFlags holds the flags of run.
type runFlags struct {
	settings    *settingsFlags
	summary     string
	quiet, show bool
	noMCP       bool
}

func runCommand() *cobra.Command {
	var r runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT…]",
		Short: "Run a program whose calls go through Oriel",
		Long: `Run a program, such as an agent, whose calls to models go through a proxy of its own, on
a free port, for as long as the program runs. Its base-URL variables are set
(OPENAI_BASE_URL, OPENAI_API_BASE, ANTHROPIC_BASE_URL, ANTHROPIC_API_BASE,
GOOGLE_GEMINI_BASE_URL, OLLAMA_HOST, those that Goose, Copilot CLI and grok read, and
with AWS_BEARER_TOKEN_BEDROCK that of Claude on Bedrock); Codex, which reads none of them, gets -c openai_base_url=… in front of its arguments. If
base URLs are set already, the proxy forwards the calls to them.

The program has this terminal, its signals and its files as if it ran alone, and Oriel
prints nothing while it runs. At the end Oriel prints a summary on standard error and
exits with the program's exit code: 128+N if signal N killed it, 127 if it was not found,
126 if it could not be run.

Claude Code, Codex and opencode also get the address of this proxy's MCP server, by an
argument or a variable, so that they can search and read what is no longer in their
window; see oriel mcp. --no-mcp turns that off, and so do --strict-mcp-config among the
arguments of Claude Code and OPENCODE_CONFIG_CONTENT if it is already set.

The program does not inherit $ORIEL_TOKEN and other secrets of Oriel's own.

Several programs may run at the same time on one history.`,
		Example: `  oriel run -- claude
  oriel run --profile full -- codex exec 'fix the tests'
  oriel run --upstream-openai http://localhost:11434/v1 -- python agent.py`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no program is named: write it after --, as in oriel run -- claude")
			}
			return nil
		},
	}
	r.settings = addSettings(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false) // the program's flags are its own, even if -- is missing
	for _, name := range []string{"listen", "token", "origin"} {
		f.MarkHidden(name) // they are for a proxy with several users
	}
	f.StringVar(&r.summary, "summary", "", "`file` for the summary as one JSON object, for its owner alone")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "print neither the first lines nor the summary on standard error")
	f.BoolVar(&r.noMCP, "no-mcp", false, "do not give the agent an MCP server")
	f.BoolVar(&r.show, "show", false, "print what would be run, and with which variables, and run nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		// The first interrupt is for the program, not for this one.
		return r.run(context.WithoutCancel(cmd.Context()), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// launch is a program to run, and where its calls go.
type launch struct {
	path              string // of the program
	args              []string
	env               environment
	openAI, anthropic string // upstreams
	gemini, ollama    string // upstreams, too
	chatGPT           string
	bedrock           string // "" for none
	codex             *codex // set if the program is Codex
	noMCP             bool
}

// plan finds the program and where its calls go: if the settings name no
// upstream, to where the program would have sent them.
func plan(args []string, env environment, s *settings.Loaded) (*launch, error) {
	l := &launch{args: args, env: env, openAI: s.Upstream.OpenAI, anthropic: s.Upstream.Anthropic,
		gemini: s.Upstream.Gemini, ollama: s.Upstream.Ollama, chatGPT: s.Upstream.ChatGPT,
		bedrock: s.Upstream.Bedrock}
	var err error
	if l.path, err = lookProgram(args[0]); err != nil {
		return nil, err
	}
	theirs := env.first(openAIVariables...)
	if l.name() == "codex" {
		c := readCodex(args[1:], env)
		l.codex = &c
		switch base := strings.TrimSuffix(strings.TrimRight(c.base, "/"), chatGPTPath); {
		case !c.chatGPT:
			theirs = cmp.Or(c.base, theirs)
		case s.SourceOf("upstream.chatgpt").Kind == "default":
			l.chatGPT = base
		}
	}
	ownOpenAI, ownAnthropic := ownAddress(l.name(), env)
	theirs = cmp.Or(ownOpenAI, theirs)
	if s.SourceOf("upstream.openai").Kind == "default" {
		l.openAI = cmp.Or(theirs, l.openAI)
	}
	if s.SourceOf("upstream.anthropic").Kind == "default" {
		l.anthropic = cmp.Or(ownAnthropic, env.first(anthropicVariables...), l.anthropic)
	}
	if s.SourceOf("upstream.ollama").Kind == "default" {
		l.ollama = cmp.Or(ollamaURL(env.first(ollamaVariables...)), l.ollama)
	}
	if s.SourceOf("upstream.gemini").Kind == "default" {
		l.gemini = cmp.Or(env.first(geminiVariables...), l.gemini)
	}
	if s.SourceOf("upstream.bedrock").Kind == "default" {
		l.bedrock = bedrockUpstream(l.name(), env)
	}
	return l, nil
}

// name returns the program's name without folder and extension.
func (l *launch) name() string {
	name := filepath.Base(l.args[0])
	for _, ending := range []string{".exe", ".cmd", ".js"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// command returns the program's arguments and the variables that make it call
// the proxy at base, and how it is told of the MCP server there, which may be nil.
func (l *launch) command(base string) (args, changed []string, told *registration) {
	var first []string
	if l.codex != nil {
		first = l.codex.arguments(base)
	}
	if !l.noMCP {
		told = register(l.name(), l.args[1:], l.env, base)
	}
	if told != nil {
		first = append(first, told.args...)
	}
	changed = slices.Concat(childEnvironment(l.env, base, l.anthropic), bedrockEnvironment(l.env, base, l.bedrock),
		ownVariables(l.name(), l.env, base))
	return slices.Concat(l.args[:1], first, l.args[1:]), changed, told
}

// lookProgram finds a program as a shell does.
func lookProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case name == "":
		return "", &exit{exitNotFound, errors.New("the program's name is empty: is a variable not set?")}
	case err == nil, errors.Is(err, exec.ErrDot): // a user with . in $PATH intends it
		return path, nil
	case errors.Is(err, fs.ErrPermission):
		return "", &exit{exitCannotRun, fmt.Errorf("%s cannot be run: it is not executable: chmod +x makes it so",
			name)}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", &exit{exitNotFound, fmt.Errorf("%s is not found: is it installed, and its folder in $PATH?", name)}
	}
	return "", &exit{exitCannotRun, fmt.Errorf("%s cannot be run: %w", name, err)}
}

func (r *runFlags) run(ctx context.Context, args []string, out, errOut io.Writer) error {
	sources, err := r.settings.sources()
	if err != nil {
		return err
	}
	loaded, err := loadSettings(sources)
	if err != nil {
		return err
	}
	if err := canWrite(r.summary); err != nil {
		return fmt.Errorf("--summary: %w", err)
	}
	l, err := plan(args, os.Environ(), loaded)
	if err != nil {
		return err
	}
	l.noMCP = r.noMCP
	serveAt := loaded.Listen
	loaded.Listen, loaded.Token, loaded.Origins = "127.0.0.1:0", "", nil
	loaded.Upstream.OpenAI, loaded.Upstream.Anthropic = l.openAI, l.anthropic
	loaded.Upstream.Gemini, loaded.Upstream.Ollama, loaded.Upstream.ChatGPT = l.gemini, l.ollama, l.chatGPT
	loaded.Upstream.Bedrock = l.bedrock
	log := &runLog{Handler: slog.DiscardHandler, worst: new(atomic.Int64)}
	live := newLiveSettings(slog.New(log))
	defer live.Stop()
	o, err := live.Begin(loaded)
	if err != nil {
		return err
	}
	if r.show {
		printLaunch(out, l)
		return nil
	}
	log.open(loaded.Data)
	slog.SetDefault(slog.New(log)) // standard error belongs to the program, but net/http writes to the standard log
	if r.quiet {
		live.Warn(loaded)
	}
	var trouble bytes.Buffer // printed again at the end, because a program that draws would erase it
	var t runCounts
	data := &history{dir: loaded.Data, url: loaded.Store, given: true}
	o.Events, o.OnEvent, o.ErrOut = loaded.Events, t.event, &trouble
	o.Settings = func() *settings.Loaded { return loaded }
	o.Project, o.Alone = workingFolder(), true
	o.Proxy.ShutdownTimeout = leftWait
	g, err := openServer(ctx, data, o)
	if err != nil {
		log.finish()
		return err
	}
	began := time.Now()
	served, err := startServer(ctx, g.Server, l)
	if err != nil {
		g.Shutdown()
		log.finish()
		return &failure{err}
	}
	if !r.quiet {
		tellStart(errOut, loaded, trouble.Bytes(), served.base)
	}
	command, changed, told := l.command(served.base)
	if told != nil {
		changed = append(changed, told.changed...)
	}
	defer holdSignals()()
	code, failed := runChild(l.path, command, l.env.withoutSecrets().with(changed))
	s := &summary{
		Program: l.name(), Exit: code, Seconds: time.Since(began).Seconds(), Profile: loaded.Profile,
		launch: l, listen: serveAt, data: r.dataToShow(loaded), trouble: strings.TrimSpace(trouble.String()),
	}
	// A closed reader of the summary must not change the exit code.
	signal.Ignore(syscall.SIGPIPE)
	served.end()
	s.requests(g.Server.Counters())
	g.Shutdown() // after it all calls are written and reported
	if what := g.Trouble(); what != "" && s.trouble == "" {
		s.trouble = "oriel: " + what
	}
	var recorded *call.Counters
	if g.Engine != nil {
		recorded = call.Of(g.Engine).Counters()
	}
	s.add(&t, recorded, loaded.Table, pricesSince(ctx, data, began, loaded.Table))
	s.Log = log.finish()
	if failed != nil {
		return &exit{exitCannotRun, fmt.Errorf("%s cannot be run: %w%s", l.args[0], failed, hintOf(failed))}
	}
	err = s.write(r.summary)
	var last bytes.Buffer
	if !r.quiet {
		s.writeTo(&last, term.StyleOf(errOut))
	}
	if err != nil {
		fmt.Fprintf(&last, "oriel: %s\n", term.OneLine(err.Error(), maxError)) // the exit code is the program's
	}
	tell(errOut, last.Bytes())
	if code != 0 {
		return &exit{code: code}
	}
	return nil
}

// workingFolder returns the project of calls made here, the same name that
// imported sessions have, or "" if it cannot be a name.
func workingFolder() string {
	dir, err := os.Getwd()
	if err != nil || len(dir) > timeline.MaxName || !utf8.ValidString(dir) {
		return ""
	}
	return dir
}

// dataToShow returns the data folder to pass to oriel show, or "" if it finds
// the folder itself.
func (r *runFlags) dataToShow(l *settings.Loaded) string {
	if r.settings.file != "" && l.SourceOf("data").Kind == "file" {
		return l.Data // oriel show has no --config
	}
	return r.settings.data.dir
}

// holdSignals keeps signals from ending this program before the last calls are
// written and the summary is printed, which takes seconds. Ignored signals
// stay ignored.
func holdSignals() (release func()) {
	held := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(held, s)
		}
	}
	return func() { signal.Stop(held) }
}

// hintOf returns what to do about a program that the system does not start.
func hintOf(err error) string {
	if strings.Contains(err.Error(), "exec format error") {
		return ": a script needs a first line such as #!/bin/sh"
	}
	return ""
}

// printLaunch prints what would be run.
func printLaunch(w io.Writer, l *launch) {
	args, changed, told := l.command("http://127.0.0.1:PORT")
	if told != nil {
		changed = append(changed, told.changed...)
	}
	fmt.Fprintf(w, "OpenAI     %s\nAnthropic  %s\nGemini     %s\nOllama     %s\n", settings.WithoutKeys(l.openAI),
		settings.WithoutKeys(l.anthropic), settings.WithoutKeys(l.gemini), settings.WithoutKeys(l.ollama))
	if l.bedrock != "" {
		fmt.Fprintf(w, "Bedrock    %s\n", settings.WithoutKeys(l.bedrock))
	}
	fmt.Fprintln(w)
	for _, v := range changed {
		fmt.Fprintln(w, term.Printable(v))
	}
	fmt.Fprintln(w, term.Printable(shellLine(args)))
}

// servedProxy is a running proxy.
type servedProxy struct {
	base string
	stop context.CancelFunc
	done chan error
}

// startServer serves on a free port that is not an upstream's: a base URL of
// an earlier run may still be set.
func startServer(ctx context.Context, server *proxy.Server, l *launch) (*servedProxy, error) {
	var listener net.Listener
	for listener == nil {
		next, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("no port is free on this machine: %w", err)
		}
		port := fmt.Sprint(next.Addr().(*net.TCPAddr).Port)
		bases := []string{l.openAI, l.anthropic, l.gemini, l.ollama, l.chatGPT, l.bedrock}
		if slices.ContainsFunc(bases, func(base string) bool {
			return port == portOf(base)
		}) {
			defer next.Close() // keep it occupied until another port is found
			continue
		}
		listener = next
	}
	ctx, stop := context.WithCancel(ctx)
	s := &servedProxy{base: "http://" + listener.Addr().String(), stop: stop, done: make(chan error, 1)}
	go func() { s.done <- server.Serve(ctx, listener) }()
	return s, nil
}

// end gives running calls a moment to finish.
func (s *servedProxy) end() {
	s.stop()
	<-s.done // the log contains interrupted answers
}

// runLog is the log of a run: a file in the data folder that is kept only if
// it contains something worth reading.
type runLog struct {
	slog.Handler
	file  *os.File
	queue *lines.Writer // to file
	worst *atomic.Int64 // level
}

// open creates the file. If that fails, nothing is written.
func (l *runLog) open(dir string) {
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, time.Now().Format("run-20060102-150405-*.log"))
	if err != nil {
		return
	}
	l.file, l.queue = f, logLines(f)
	l.Handler = slog.NewTextHandler(l.queue, nil)
}

func (l *runLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *runLog) Handle(ctx context.Context, r slog.Record) error {
	// Failures of requests that are not calls, such as Claude Code's network
	// check, do not matter.
	for r.Message != "passed" {
		worst := l.worst.Load()
		if int64(r.Level) <= worst || l.worst.CompareAndSwap(worst, int64(r.Level)) {
			break
		}
	}
	return l.Handler.Handle(ctx, r)
}

func (l *runLog) WithAttrs(a []slog.Attr) slog.Handler {
	return &runLog{l.Handler.WithAttrs(a), l.file, l.queue, l.worst}
}

func (l *runLog) WithGroup(name string) slog.Handler {
	return &runLog{l.Handler.WithGroup(name), l.file, l.queue, l.worst}
}

// finish closes the log and returns its path, or "" if nothing went wrong.
func (l *runLog) finish() string {
	if l.file == nil {
		return ""
	}
	l.queue.Close(outputWait)
	l.file.Close()
	if l.worst.Load() >= int64(slog.LevelWarn) {
		return l.file.Name()
	}
	os.Remove(l.file.Name())
	return ""
}
