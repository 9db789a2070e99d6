package call

import (
	"net/http"
	"testing"
)

// SPEC E2
func TestCodexSaysThatItCompacts(t *testing.T) {
	for value, want := range map[string]bool{
		`{"turn_id":"t1","request_kind":"compaction"}`: true,
		`{"turn_id":"t1","request_kind":"turn"}`:       false,
		`compaction`:                                   false,
		``:                                             false,
	} {
		if got := compacts(http.Header{codexTurn: {value}}); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
}
