package chat

import (
	"encoding/json"
	"testing"
)

// Notes that clients put in place of results, and short results that are none.
func TestResultsThatTheirClientsEmptied(t *testing.T) {
	for text, want := range map[string]bool{
		"[cleared]":                         true,
		"[Old tool result content cleared]": true,
		"[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read.]": true,
		"[Output omitted]":       true,
		"[]":                     false,
		"[\"cleared\", 1]":       false,
		"[main 1a2b3c] cleared":  false,
		"The table was cleared.": false,
		Mark + ": the result of Read is omitted]":      false,
		"[INFO] cleared the cache\n[INFO] 7 files ok]": false,
	} {
		literal, _ := json.Marshal(text)
		for _, p := range []Part{{Kind: Result, Text: literal},
			{Kind: Result, Parts: []Part{{Kind: Text, Text: literal}}}} {
			if got := Emptied(&Message{Role: User, Parts: []Part{p}}); got != want {
				t.Errorf("%s: %t", text, got)
			}
		}
		if Emptied(&Message{Role: User, Parts: []Part{{Kind: Text, Text: literal}}}) {
			t.Errorf("%s is a person's", text)
		}
	}
}
