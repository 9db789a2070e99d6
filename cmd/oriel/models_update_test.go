package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/settings"
)

// What is stored is read again: a table that would be too large for that replaces none.
func TestPricesThatCannotBeReadAgainAreNotStored(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, `,"gpt-%d":{"litellm_provider":"openai","mode":"chat","max_input_tokens":1000}`, 1000+i)
	}
	file := filepath.Join(t.TempDir(), "many.json")
	if err := os.WriteFile(file, []byte("{"+b.String()[1:]+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := updatePrices(&cobra.Command{}, file)
	if err == nil || !strings.Contains(err.Error(), "20000 models") || !strings.Contains(err.Error(), file) {
		t.Error(err)
	}
	if _, err := os.Stat(settings.UserPrices()); !os.IsNotExist(err) {
		t.Errorf("the table was stored: %v", err)
	}
}
