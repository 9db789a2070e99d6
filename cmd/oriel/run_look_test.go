package main

import "testing"

// The line can be copied, whatever a client called its conversation.
func TestLookIsForAShell(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		cuts       int
		want       string
	}{
		{"3c546d67-c920", "", 0, "oriel show 3c546d67-c920"},
		{"a", "my data", 2, "oriel show a --plan --data 'my data'"},
		{"x;id>f", "", 0, "oriel show 'x;id>f'"},
		{"it's$HOME", "", 0, `oriel show 'it'\''s$HOME'`},
		{"--data", "d", 0, "oriel show --data d -- --data"},
	} {
		s := summary{bill: bill{Conversations: []string{tc.name}}, Cuts: tc.cuts, data: tc.data}
		if got := s.look(); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.name, got, tc.want)
		}
	}
}
