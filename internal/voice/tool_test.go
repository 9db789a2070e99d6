package voice_test

import (
	"testing"

	"github.com/oriel-context/oriel/internal/voice"
)

func TestOwnToolsAreKnownByTheServersName(t *testing.T) {
	for name, want := range map[string]string{
		"mcp__oriel__recall": "recall", "oriel_read": "read", "oriel__list_conversations": "list_conversations", "mcp_oriel_unpin": "unpin", "oriel.pin": "pin",
		"recall": "", "mcp__other__recall": "", "mcp__memoriel__recall": "", "mcp__oriel__recall_all": "", "oriel": "", "Read": "", "mcp__oriel__": "",
	} {
		if got := voice.OwnTool(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
