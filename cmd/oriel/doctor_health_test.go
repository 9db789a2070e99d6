//go:build unix

package main

import (
	"bytes"
	"strings"
	"testing"
)

// A container asks the program itself whether the server runs.
func TestDoctorKnowsARunningServer(t *testing.T) {
	s := startServe(t, "--data", t.TempDir())
	var out, errs bytes.Buffer
	code := run([]string{"doctor", "--health", "--listen", strings.TrimPrefix(s.anthropic, "http://")},
		strings.NewReader(""), &out, &errs)
	if code != 0 || !strings.HasPrefix(out.String(), "ok  health  oriel ") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("exit %d: %s%s", code, &out, &errs)
	}
	s.end(t)
}
