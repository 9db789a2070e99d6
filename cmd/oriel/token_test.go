package main

import (
	"strings"
	"testing"
)

func TestTenantsHaveShortReadableNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "Zoë.2_x@y-z": true, strings.Repeat("é", 100): true,
		"": false, strings.Repeat("é", 101): false, ".a": false, "a b": false, "a\xff": false, "a\n": false,
	} {
		if err := checkTenant(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
