// Package script runs plain-text test scripts that anybody can read: what goes
// in, "----", what comes out, a blank line.
//
// A file holds any number of cases. Lines that begin with "#" are comments and
// reach the code under test like any other line; it skips them. With
// `go test -rewrite` what came out is written into the files, to be read in the
// diff.
package script

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what came out into the test scripts")

// Run runs every case of the files that match the pattern.
func Run(t *testing.T, pattern string, run func(t *testing.T, in string) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts match %s: %v", pattern, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for i, c := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n\n") {
			in, want, _ := strings.Cut(c+"\n", "\n----\n")
			got := run(t, in)
			if got != "" && !strings.HasSuffix(got, "\n") {
				got += "\n"
			}
			if out.Len() > 0 {
				out.WriteString("\n")
			}
			fmt.Fprintf(&out, "%s\n----\n%s", in, got)
			if *rewrite {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i), func(t *testing.T) {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s\n(-want +got)\n%s", in, diff)
				}
			})
		}
		if *rewrite {
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
