package setup

import (
	"encoding/json"
	"slices"
	"strings"
)

// clineEdits returns the edits of the providers of Cline's command line that call OpenAI's API.
// What is in the file was put there by cline auth: a provider is not added, because it needs a key
// and a model.
func clineEdits(file, base string) (edits []Edit, notes []string) {
	var settings struct {
		Providers map[string]json.RawMessage `json:"providers"`
	}
	if _, text, _, err := read(file); err == nil {
		_ = json.Unmarshal([]byte(text), &settings) // newChange reports what is wrong
	}
	for name := range settings.Providers {
		if at := clineBase(name, base); at != "" {
			value, _ := json.Marshal(at)
			edits = append(edits, Edit{Path: []string{"providers", name, "settings", "baseUrl"}, Value: string(value)})
		}
	}
	slices.SortFunc(edits, func(a, b Edit) int { return strings.Compare(a.Path[1], b.Path[1]) })
	if len(edits) == 0 {
		notes = append(notes, "Cline has no provider of OpenAI's API yet: cline auth "+
			"-p openai-compatible -k KEY -m MODEL -b "+base+"/v1 sets one up")
	}
	return edits, notes
}

// clineBase returns what a provider of Cline's is given as its base URL, or "" for a provider whose
// requests Oriel does not know.
func clineBase(provider, base string) string {
	switch provider {
	case "openai-compatible", "openai-native", "openai":
		return base + "/v1"
	}
	return ""
}
