package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
)

func serviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Have oriel serve started with your session",
		Long: `Have this system start oriel serve when you log in, and again if it ends by itself: with a
systemd user unit on Linux, a launchd agent on macOS, a scheduled task on Windows. Nothing
needs root. The service reads the settings file and no variables of your shell.`,
		Example: `  oriel service install --dry-run
  oriel service install
  oriel service status
  oriel service remove`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
	}
	cmd.AddCommand(serviceInstallCommand(), serviceRemoveCommand(), serviceStatusCommand())
	return cmd
}

func serviceInstallCommand() *cobra.Command {
	var dryRun bool
	var config string
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Start oriel serve now and with each session",
		Long: `Write the description of the service and have the system start it, now and with each
session. --dry-run prints the file and the commands and does nothing.`,
		Example: `  oriel service install
  oriel service install --config ~/work.toml --dry-run`,
		Args: noArguments,
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be written and run, and do nothing")
	cmd.Flags().StringVar(&config, "config", "",
		"settings `file` of the service (default $ORIEL_CONFIG, else that of the user)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := thisService()
		if err != nil {
			return err
		}
		if config == "" {
			config = os.Getenv("ORIEL_CONFIG")
		}
		if config != "" {
			if s.config, err = filepath.Abs(config); err != nil {
				return &failure{err}
			}
			if _, err := os.Stat(s.config); err != nil {
				return fmt.Errorf("--config: %w", err)
			}
		}
		for _, name := range []string{"ORIEL_LISTEN", "ORIEL_DATA", "ORIEL_STORE", "ORIEL_PROFILE"} {
			if os.Getenv(name) != "" {
				warn(cmd, []string{name + " is set here, but not for the service: put it into the settings file"})
			}
		}
		path, text := s.file()
		if dryRun {
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n%s\n", term.Printable(path), term.Printable(text),
				term.Printable(s.script(s.starts())))
			return nil
		}
		if err := s.install(cmd.Context()); err != nil {
			return &failure{err}
		}
		fmt.Fprintf(cmd.OutOrStdout(),
			"%s is written: oriel serve runs, now and with each session; oriel service remove ends it\n",
			term.Printable(path))
		return nil
	}
	return cmd
}

func serviceRemoveCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "End the service and remove it",
		Long: `End the service and remove its description. The history and the settings stay. An agent that
oriel setup has set up needs another oriel serve, or oriel setup AGENT --undo.`,
		Example: `  oriel service remove
  oriel service remove --dry-run`,
		Args: noArguments,
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be run and removed, and do nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := thisService()
		if err != nil {
			return err
		}
		path, _ := s.file()
		if dryRun {
			fmt.Fprintf(cmd.OutOrStdout(), "%s\nremove %s\n", term.Printable(s.script(s.stops())), term.Printable(path))
			return nil
		}
		if err := s.remove(cmd.Context()); errors.Is(err, fs.ErrNotExist) {
			return errors.New("there is no service: nothing to remove")
		} else if err != nil {
			return &failure{err}
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is removed\n", term.Printable(path))
		return nil
	}
	return cmd
}

func serviceStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether the service is installed and a server answers",
		Long: `Show whether the service is installed, and whether a server answers at the address of its
settings: those of the file with which it was installed, without the variables of your shell.
If it is not installed, they are those of oriel serve. It exits with 1 if no server answers.`,
		Example: `  oriel service status`,
		Args:    noArguments,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := thisService()
		if err != nil {
			return err
		}
		sources := configSources("")
		sources.Env = os.Getenv
		path, _ := s.file()
		if _, err := os.Stat(path); err != nil {
			fmt.Fprintln(cmd.OutOrStdout(), "not installed: oriel service install")
		} else {
			fmt.Fprintf(cmd.OutOrStdout(), "installed  %s\n", term.Printable(path))
		}
		if s.checkOwn(path) == nil {
			config, err := s.installedConfig(path)
			if err != nil {
				return &failure{err}
			}
			sources = settings.Sources{File: config}
			if config == "" {
				sources.File, sources.Optional = settings.UserFile(), true
			} else {
				fmt.Fprintf(cmd.OutOrStdout(), "settings   %s\n", term.Printable(config))
			}
		}
		loaded, err := loadSettings(sources)
		if err != nil {
			return err
		}
		host, port, err := net.SplitHostPort(loaded.Listen)
		if err != nil {
			return fmt.Errorf("the setting listen is %q, no address", term.OneLine(loaded.Listen, 60))
		}
		at := reachable(host, port)
		if !listens(cmd.Context(), at) {
			return &failure{fmt.Errorf("nothing answers at %s", at)}
		}
		if askHealth(cmd.Context(), at, "") == nil {
			return &failure{errors.New(stranger(at))}
		}
		fmt.Fprintf(cmd.OutOrStdout(), "running    %s\n", at)
		return nil
	}
	return cmd
}

// service is oriel serve as a system's service manager starts it.
type service struct {
	goos, program, home string
	config              string // settings file, or "" for the usual one
	user                string // of Windows, or the number of the user elsewhere
	getenv              func(string) string
	run                 func(ctx context.Context, argv []string) error
	wait                func(ctx context.Context, d time.Duration) error
}

func thisService() (*service, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, &failure{err}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, &failure{err}
	}
	s := &service{goos: runtime.GOOS, program: program, home: home, user: fmt.Sprint(os.Getuid()), getenv: os.Getenv,
		run: runQuietly, wait: pause}
	switch s.goos {
	case "linux":
		if strings.ContainsAny(program, "\"'\\\n") {
			return nil, fmt.Errorf("systemd starts no program whose path has quotes or a backslash, as %s: move it",
				program)
		}
	case "darwin":
	case "windows":
		s.user = os.Getenv("USERDOMAIN") + `\` + os.Getenv("USERNAME")
	default:
		return nil, fmt.Errorf("services of %s are not known here: have oriel serve started by its own means", s.goos)
	}
	return s, nil
}

// runQuietly runs a command. Its output is shown only if it fails.
func runQuietly(ctx context.Context, argv []string) error {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, term.OneLine(string(out), 300))
	}
	return nil
}

// pause waits, or stops with the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

const (
	unitName  = "oriel.service"
	agentName = "oriel.serve"
	taskName  = "Oriel"
)

// step is a command of the service manager. A step that mayFail removes something that may not
// exist. A step that waits is refused until the service that ran before has ended.
type step struct {
	argv    []string
	mayFail bool
	waits   bool
}

// A refused step is run again, at most this often, after this time.
const (
	maxRetries = 20
	retryAfter = 250 * time.Millisecond
)

// starts returns the commands that start the service, now and with each session.
func (s *service) starts() []step {
	path, _ := s.file()
	switch s.goos {
	case "darwin":
		return []step{
			{argv: []string{"launchctl", "bootout", "gui/" + s.user + "/" + agentName}, mayFail: true},
			{argv: []string{"launchctl", "bootstrap", "gui/" + s.user, path}, waits: true},
		}
	case "windows":
		return []step{{argv: []string{"schtasks", "/Create", "/TN", taskName, "/XML", path, "/F"}},
			{argv: []string{"schtasks", "/Run", "/TN", taskName}}}
	}
	return []step{
		{argv: []string{"systemctl", "--user", "daemon-reload"}},
		{argv: []string{"systemctl", "--user", "enable", unitName}},
		{argv: []string{"systemctl", "--user", "restart", unitName}},
	}
}

// stops returns the commands that end the service.
func (s *service) stops() []step {
	switch s.goos {
	case "darwin":
		return []step{{argv: []string{"launchctl", "bootout", "gui/" + s.user + "/" + agentName}, mayFail: true}}
	case "windows":
		return []step{{argv: []string{"schtasks", "/End", "/TN", taskName}, mayFail: true},
			{argv: []string{"schtasks", "/Delete", "/TN", taskName, "/F"}}}
	}
	return []step{{argv: []string{"systemctl", "--user", "disable", "--now", unitName}}}
}

func (s *service) script(steps []step) string {
	var lines []string
	for _, step := range steps {
		lines = append(lines, strings.Join(step.argv, " "))
	}
	return strings.Join(lines, "\n")
}

func (s *service) do(ctx context.Context, steps []step) error {
	for _, step := range steps {
		err := s.run(ctx, step.argv)
		for n := 0; n < maxRetries && step.waits && stillEnds(err); n++ {
			if err := s.wait(ctx, retryAfter); err != nil {
				return err
			}
			err = s.run(ctx, step.argv)
		}
		if err != nil && !step.mayFail {
			return err
		}
	}
	return nil
}

// stillEnds reports whether launchctl refused to start an agent because the one of the same
// name has not ended: with 5 (Input/output error) or 37 (Operation already in progress).
func stillEnds(err error) bool {
	var code interface{ ExitCode() int }
	return errors.As(err, &code) && (code.ExitCode() == 5 || code.ExitCode() == 37)
}

// install writes the description and starts the service. If the system does not start it and
// there was none before, nothing is left of it.
func (s *service) install(ctx context.Context) error {
	path, text := s.file()
	before := s.checkOwn(path)
	if before != nil && !errors.Is(before, fs.ErrNotExist) {
		return before
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	data := []byte(text)
	if s.goos == "windows" {
		data = inUTF16(text)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	err := s.do(ctx, s.starts())
	if err == nil {
		return nil
	}
	if before == nil {
		return fmt.Errorf("%s is written, but the system did not start it: %w", path, err)
	}
	for _, step := range s.stops() {
		_ = s.run(ctx, step.argv) // what has not begun need not end
	}
	err = fmt.Errorf("the system did not start the service, and nothing is installed: %w; until then, run oriel serve in a terminal", err)
	return errors.Join(err, os.Remove(path))
}

// checkOwn returns an error if there is no description of a service at a path, or one that
// somebody else wrote.
func (s *service) checkOwn(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && !strings.Contains(strings.ReplaceAll(string(data), "\x00", ""),
		serviceMark) { // that of Windows is in UTF-16
		err = fmt.Errorf("%s is not from oriel service install, and stays as it is: to have this command look after it, move the file away", path)
	}
	return err
}

// remove ends the service and removes its description. The description is also removed if the
// system does not end the service, except on Windows, where a task does not need it.
func (s *service) remove(ctx context.Context) error {
	path, _ := s.file()
	if err := s.checkOwn(path); err != nil {
		return err
	}
	failed := s.do(ctx, s.stops())
	if failed != nil && s.goos == "windows" {
		return failed
	}
	if err := os.Remove(path); err != nil {
		return errors.Join(failed, err)
	}
	if failed == nil {
		return nil
	}
	err := fmt.Errorf("%s is removed, but the system did not end the service: %w; an oriel serve that it started runs until you end it or log out", path, failed)
	link := filepath.Join(filepath.Dir(path), "default.target.wants",
		unitName) // which systemctl disable would have removed
	if failed := os.Remove(link); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
		err = errors.Join(err, failed)
	}
	return err
}
