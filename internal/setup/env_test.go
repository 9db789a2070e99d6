package setup

import "testing"

// A variable is set where it counts, everything else stays, and taking it out leaves what was there.
func TestVariablesAreSetAndRemoved(t *testing.T) {
	path := []string{"GOOGLE_GEMINI_BASE_URL"}
	for text, want := range map[string]string{
		"":               "GOOGLE_GEMINI_BASE_URL=http://o\n",
		"# mine\nA=1":    "# mine\nA=1\nGOOGLE_GEMINI_BASE_URL=http://o\n",
		"A=1\r\nB=2\r\n": "A=1\r\nB=2\r\nGOOGLE_GEMINI_BASE_URL=http://o\r\n",
		"export GOOGLE_GEMINI_BASE_URL=http://x\nA=1\n": "GOOGLE_GEMINI_BASE_URL=http://o\nA=1\n",
	} {
		d := parseEnv(text)
		got, err := d.Set(path, "http://o")
		if err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
			continue
		}
		if value, ok, err := parseEnv(got).Get(path); value != "http://o" || !ok || err != nil {
			t.Errorf("%q is read as %q, %v, %v", got, value, ok, err)
		}
		out, err := parseEnv(got).Remove(path)
		if _, ok, _ := parseEnv(out).Get(path); ok || err != nil {
			t.Errorf("%q: %q after its removal, %v", text, out, err)
		}
	}
	if _, err := parseEnv("GOOGLE_GEMINI_BASE_URL=\"of two\nlines\"\n").Set(path, "x"); err == nil {
		t.Error("a value of two lines is changed")
	}
}
