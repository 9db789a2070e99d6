package main

import (
	"strings"
	"testing"
)

// A password is not repeated, also if the URL around it is wrong.
func TestAWrongStoreIsNotRepeated(t *testing.T) {
	for _, url := range []string{"mysql://ann:hunter2@db/oriel", "host=db password=hunter2",
		"POSTGRES://ann:hunter2@db/oriel", "postgres://ann:hunter2@db:x/oriel", "postgres://ann:hunter2%zz@db/oriel"} {
		for _, args := range [][]string{{"conversations"}, {"verify"}, {"import"}} {
			code, out, errOut := command(t, append(args, "--store", url)...)
			if code == 0 || strings.Contains(out+errOut, "hunter2") {
				t.Errorf("%s: exit %d: %s%s", args[0], code, out, errOut)
			}
		}
	}
}
