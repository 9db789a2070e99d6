package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/oriel-context/oriel/tools/browser/drive"
)

// oriel runs a command and returns what it prints.
func oriel(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), environment()...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("oriel %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

const whoIs = `document.querySelector('#who')?.innerText`

func (b *tab) signIn(token string) {
	b.Helper()
	b.until(`document.querySelector('#token')`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#token').value = ''`),
		chromedp.Focus(chromedp.CSS("#token")), chromedp.KeyEvent(token+"\r"))
}

func TestSigningInWithATokenAndOutAgain(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	ann, ben := oriel(t, "token", "add", "--tenant", "ann", "--data", data),
		oriel(t, "token", "add", "--tenant", "ben", "--role", "read", "--data", data)
	s, err := drive.Serve(t.Context(), program, data, model.URL, environment("ORIEL_TOKEN=own-0123456789abcdef")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	b := openAt(t, s, "#/settings")
	b.until(`document.activeElement.id === 'token'`)
	b.accessible("sign in")
	b.signIn("oriel_wrong")
	b.until(`document.querySelector('.problem')?.innerText.includes('does not know')`)
	b.signIn(ann)
	b.until(whoIs + ` === 'as ann' && document.querySelector('main')?.innerText.includes('Settings')`) // where it was
	if kept := eval[string](b,
		`document.cookie + location.href + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)`); strings.Contains(kept, ann) || strings.Contains(kept, "oriel_") {
		t.Errorf("scripts can read %q", kept)
	}

	// A link of another site: the page asks before it changes whose browser this is.
	for _, link := range []string{"#token=" + ben, "?token=" + ben} {
		b.visit(link)
		b.until(`document.querySelector('#sign-in')?.innerText === 'Sign in as ben' && document.querySelector('main').innerText.includes('history of ann now')`)
		if at := eval[string](b, `location.href`); strings.Contains(at, ben) {
			t.Errorf("the token stays in the address: %s", at)
		}
		b.visit("")
		b.until(whoIs + ` === 'as ann'`)
	}
	b.visit("#token=" + ben)
	b.accessible("a link that signs in")
	b.click("#stay")
	b.until(whoIs + ` === 'as ann'`)
	b.visit("#token=" + ann) // nothing to ask
	b.until(whoIs + ` === 'as ann'`)
	b.visit("#token=oriel_wrong")
	b.until(`document.querySelector('.problem')?.innerText.includes('does not know') && document.querySelector('#token')`)
	b.visit("#token=" + ben)
	b.click("#sign-in")
	b.until(whoIs + ` === 'as ben, reading'`)

	// The page asks as soon as its token ends.
	oriel(t, "token", "revoke", ben, "--data", data)
	b.until(`document.querySelector('#token')`)
	b.signIn(ann)
	b.until(whoIs + ` === 'as ann'`)
	if list := oriel(t, "token", "list", "--tenant", "ann", "--data", data); strings.Count(list,
		"console") != 1 { // the one of before ben's has ended
		t.Errorf("the sessions of ann: %s", list)
	}
	b.click("#sign-out")
	b.until(`document.querySelector('#token')`)
	b.visit("")
	b.until(`document.querySelector('#token')`)
}
