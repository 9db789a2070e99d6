package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
)

func consoleCommand() *cobra.Command {
	var only bool
	cmd := &cobra.Command{
		Use:        "console [CONVERSATION]",
		SuggestFor: []string{"ui", "dashboard", "web", "open", "gui", "browser"},
		Short:      "Open the web page of the history in a browser",
		Long: `Open the console, the web page that oriel serve has at /oriel/, in a browser: at a
conversation if one is named. If no server runs at the address of the settings, this command
runs oriel serve until Ctrl-C. If the server there has another history than the one that you
named or set, this command runs oriel serve at a free port. --print prints the address, and
opens nothing.

` + meaning,
		Example: `  oriel console
  oriel console last
  oriel console --print`,
		Args: oneConversation(0, 1, "at most one conversation"),
	}
	cmd.Flags().BoolVar(&only, "print", false, "print the address, and open nothing")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		page := ""
		if len(args) > 0 {
			if err := data.with(cmd.Context(), func(s tenantStore) error {
				c, err := findConversation(cmd.Context(), s, args[0])
				page = "#/conversation/" + url.PathEscape(c.Name)
				return err
			}); err != nil {
				return err
			}
		}
		sources := configSources("")
		sources.Env = os.Getenv
		loaded, err := loadSettings(sources)
		if err != nil {
			return err
		}
		at := dialed(loaded.Listen)
		address := "http://" + at + "/oriel/" + page
		running, other := listens(cmd.Context(), at), ""
		switch {
		case running && askHealth(cmd.Context(), at, "") == nil:
			if !only {
				return &failure{errors.New(stranger(at))}
			}
		case running && (page != "" || data.isNamed(loaded)):
			client, err := newTopClient("http://"+at, loaded.Token)
			if err != nil {
				return err
			}
			if other, err = otherHistory(cmd.Context(), client, data); err != nil {
				return err
			}
		}
		switch {
		case other != "" && only:
			return &failure{
				fmt.Errorf("the server at %s has another history, %s: without --print, this command runs a server of its own", at, other)}
		case only:
			_, err := fmt.Fprintln(cmd.OutOrStdout(), term.Printable(address))
			return err
		case other != "":
			if at, err = unusedAddress(); err != nil {
				return &failure{err}
			}
			warn(cmd, []string{
				fmt.Sprintf("the server at %s has another history, %s: this command runs one of its own at %s, until Ctrl-C", dialed(loaded.Listen), other, at)})
			return serveAndOpen(cmd, data, at, "http://"+at+"/oriel/"+page, "--listen", at)
		case running:
			return openPage(cmd, address)
		}
		return serveAndOpen(cmd, data, at, address)
	}
	return cmd
}

// isNamed reports whether a flag, a variable or the settings name the history of a command.
func (h *history) isNamed(l *settings.Loaded) bool {
	return h.dir != "" || h.given || l.SourceOf("data").Kind != "default" || l.SourceOf("store").Kind != "default"
}

// otherHistory returns the history of a server if it is not that of data, in the words of an
// error: a folder, or "a database". It returns "" if they may be the same, as when the server
// wants another token before it names its history.
func otherHistory(ctx context.Context, server *topClient, data *history) (string, error) {
	database, err := data.database()
	if err != nil {
		return "", err
	}
	folder, err := data.folder()
	if err != nil {
		return "", err
	}
	var answer struct {
		Settings []struct {
			Key   string
			Value any
		}
	}
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	if server.ask(ctx, http.MethodGet, "settings", nil, &answer) != nil {
		return "", nil
	}
	theirs := map[string]string{}
	for _, s := range answer.Settings {
		theirs[s.Key], _ = s.Value.(string)
	}
	inDatabase := theirs["store"] == "set" // its URL is a secret
	switch {
	case inDatabase && database == "":
		return "a database", nil
	case inDatabase || theirs["data"] == "" || database == "" && mayBeFolder(folder, theirs["data"]):
		return "", nil
	}
	return term.OneLine(theirs["data"], maxError), nil
}

// mayBeFolder reports whether a folder may be the one that another process calls theirs, whose
// working folder is not known.
func mayBeFolder(folder, theirs string) bool {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return true
	}
	if !filepath.IsAbs(theirs) {
		return !filepath.IsLocal(theirs) || strings.HasSuffix(folder, string(filepath.Separator)+filepath.Clean(theirs))
	}
	a, errA := os.Stat(folder)
	b, errB := os.Stat(theirs)
	return filepath.Clean(theirs) == folder || errA == nil && errB == nil && os.SameFile(a, b)
}

// unusedAddress returns an address of this machine at which nothing listens.
func unusedAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// openPage opens an address in the browser of this machine.
func openPage(cmd *cobra.Command, address string) error {
	fmt.Fprintln(cmd.OutOrStdout(), term.Printable(address))
	argv := browserFor(runtime.GOOS, address, os.Getenv)
	if argv == nil {
		return nil // the address was printed
	}
	if err := exec.CommandContext(cmd.Context(), argv[0], argv[1:]...).Run(); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "oriel: no browser was opened (%s): open the address yourself\n",
			term.OneLine(err.Error(), 200))
	}
	return nil
}

// browserFor returns the command that opens an address; nil where there is no screen.
func browserFor(goos, address string, getenv func(string) string) []string {
	switch {
	case goos == "darwin":
		return []string{"open", address}
	case goos == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case getenv("DISPLAY")+getenv("WAYLAND_DISPLAY") != "":
		return []string{"xdg-open", address}
	}
	return nil
}

// serveAndOpen runs a server until it ends, and opens the page when that answers.
func serveAndOpen(cmd *cobra.Command, data *history, at, address string, flags ...string) error {
	program, err := os.Executable()
	if err != nil {
		return &failure{err}
	}
	argv := append([]string{"serve"}, flags...)
	if data.dir != "" {
		argv = append(argv, "--data", data.dir)
	}
	server := exec.Command(program, argv...) // Ctrl-C reaches it, too
	if data.url != "" {                      // which may have a password, and others can read arguments
		server.Env = append(os.Environ(), "ORIEL_STORE="+data.url)
	}
	server.Stdout, server.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := server.Start(); err != nil {
		return &failure{err}
	}
	defer passSignals(server.Process)()
	ctx, ended := context.WithCancel(context.Background())
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			if listens(ctx, at) {
				_ = openPage(cmd, address)
				return
			}
		}
	}()
	err = server.Wait()
	ended()
	<-opened
	var code *exec.ExitError
	if errors.As(err, &code) {
		return &exit{code: max(1, code.ExitCode())} // the server has printed why
	}
	return err
}

// passSignals forwards SIGTERM and SIGHUP to the server that this program started, so that
// both end together. Ctrl-C on a terminal reaches the server without it.
func passSignals(server *os.Process) (release func()) {
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		for {
			select {
			case <-signals:
				_ = server.Signal(syscall.SIGTERM) // an error means that the server has ended
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
