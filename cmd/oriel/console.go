package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func consoleCommand() *cobra.Command {
	var only bool
	cmd := &cobra.Command{
		Use:        "console [CONVERSATION]",
		SuggestFor: []string{"ui", "dashboard", "web", "open", "gui", "browser"},
		Short:      "Open the web page of the history in a browser",
		Long: `Open the console, the web page that oriel serve has at /oriel/, in a browser: at a
conversation if one is named. If no server runs at the address of the settings, this command
runs oriel serve until Ctrl-C. --print prints the address, and opens nothing.

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
		if only {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), printable(address))
			return err
		}
		if listens(cmd.Context(), at) {
			if askHealth(cmd.Context(), at, "") == nil {
				return &failure{errors.New(stranger(at))}
			}
			return openPage(cmd, address)
		}
		return serveAndOpen(cmd, data, at, address)
	}
	return cmd
}

// openPage opens an address in the browser of this machine.
func openPage(cmd *cobra.Command, address string) error {
	fmt.Fprintln(cmd.OutOrStdout(), printable(address))
	argv := browserFor(runtime.GOOS, address, os.Getenv)
	if argv == nil {
		return nil // the address was printed
	}
	if err := exec.CommandContext(cmd.Context(), argv[0], argv[1:]...).Run(); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "oriel: no browser was opened (%s): open the address yourself\n", oneLine(err.Error(), 200))
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
func serveAndOpen(cmd *cobra.Command, data *history, at, address string) error {
	program, err := os.Executable()
	if err != nil {
		return &failure{err}
	}
	argv := []string{"serve"}
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
