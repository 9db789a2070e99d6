package recall

import "testing"

// SPEC D3: what names nothing brings nothing back on its own.
func TestAsks(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "yes": false, "Yes, fix it.": false, "yes do option 1": false, "OK, go on!": false,
		"let's do it": false, "commit and push": false, "why?": false,
		"Hello!": false, "Thanks, that looks good to me.": false, "Sounds great, please keep going": false,
		"no, the second one": false, "all of it, again": false, "stop": false,
		"allergies?": true, "What about Lisbon?": true, "I'm so tired": true, "my knee": true, "Mum called.": true,
		"divorce":  true,
		"or #172?": true, "what is getSessionStateDir doing?": true, "which port does the proxy use?": true,
		"the staging database": true, "main.go": true,
		"yes please": false, "ok, let's do this": false, "yes, let's add this": false,
		"continue merge, then push": false, "yes, capture and continue": false, "yeah let's tackle 2 and 3": false,
		"thanks, next": false, "Thanks, Melanie! Your words mean a lot.": false, "ok, go on": false,
		"yes, use the staging database": false, "we have an import cycle now": true,
		"mise run build is failing": true, "yes, see internal/view/draft.go": true,
		"and what about the staging database, yes": true,
		"sorry I messed up, can you do it again":   false, "👍": false, "“yes”": false, "–– yes": false, "да": true,
		"Ægir":     true,
		"MAX_SIZE": true, "暂存数据库的端口是多少": true, "Wo ist der Hafen?": true,
	} {
		if Asks(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestCommands(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "the": false, "fix the lint errors": true, "Please run the linter and the formatter": true,
		"ok, then use the other approach": true,
		"Show me the port of the relay":   false, "Can you run the linter?": false, "run the linter?": false,
		"port of the mail relay": false, "E4017": false,
	} {
		if commands(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
