package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInputThatIsNotPinnedIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "vocab.txt")
	if err := os.WriteFile(path, []byte("[PAD]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(dir, filepath.Join(dir, "out"), false)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), vocabularySum) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("it was made all the same")
	}
}

// The file in the repository is what the pinned input gives: whoever changes it changes
// this sum, too, and makes it anew with this program.
func TestWeightsInTheRepositoryAreTheMadeOnes(t *testing.T) {
	if _, err := readPinned("../../embed/minilm/all-MiniLM-L6-v2.oriel", madeSum); err != nil {
		t.Error(err)
	}
}
