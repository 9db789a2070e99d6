package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// runChild runs a program on this one's console until it ends. Ctrl-C and
// Ctrl-Break go to every program of a console, so the child receives them
// directly. err is why the program could not be started.
func runChild(path string, args, env []string) (code int, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	cmd := &exec.Cmd{Path: path, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	err = cmd.Wait()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
