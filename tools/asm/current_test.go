package asm

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// The first line of each file names the command that wrote it.
func TestTheAssemblyIsWhatItsGeneratorsWrite(t *testing.T) {
	for generator, dir := range map[string]string{
		"mat": "internal/vector/mat", "rawjson": "internal/rawjson", "vector": "internal/vector",
	} {
		written, err := exec.Command("go", "run", "./"+generator).Output()
		if err != nil {
			t.Fatalf("%s: %v", generator, err)
		}
		there, err := os.ReadFile("../../" + dir + "/kernel_amd64.s")
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := bytes.Cut(written, []byte("\n"))
		if _, got, _ := bytes.Cut(there, []byte("\n")); !bytes.Equal(got, want) {
			t.Errorf("%s/kernel_amd64.s is not what tools/asm/%s writes, run: go generate ./%s", dir, generator, dir)
		}
	}
}
