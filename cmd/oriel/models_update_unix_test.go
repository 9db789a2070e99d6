//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// A pipe is no file of prices: nobody may ever write to it, so it is not opened.
func TestPricesAreNotReadFromAPipe(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	pipe := filepath.Join(t.TempDir(), "prices.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := updatePrices(&cobra.Command{}, pipe); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Error(err)
	}
}
