package browser

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/oriel-context/oriel/tools/browser/sample"
)

// agent is a session that fails its test.
type agent struct {
	*sample.Session
	t *testing.T
}

func (a *agent) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

const secret = "heron-4471-marker"

// worked returns a session whose third message, with the secret, has left the window.
func worked(t *testing.T) (s *agent, id int) {
	a := &agent{newSession(t, 9000), t}
	a.User("The vault does not open. Find out why.")
	a.must(a.Tool(t.Context(), "I look at the vault.", "Bash", `{"command":"cat vault.txt"}`, "the phrase is "+secret+
		"\n"+strings.Repeat("a line of the vault that nobody needs\n", 120)))
	a.must(a.Work(t.Context(), "vault", 12))
	st := stripAt(t, a.ID, 14)
	if v := st.verdict(3); v == "keep" {
		t.Fatalf("message 3 has not left: %+v", st)
	}
	a.User("Go on.")
	a.must(a.Say(t.Context(), "I go on."))
	if strings.Contains(model.Last(), secret) {
		t.Fatal("the provider still sees what has left")
	}
	stripAt(t, a.ID, 15)
	return a, 3
}

func TestPinInThePageKeepsTheMessageInTheNextCall(t *testing.T) {
	a, id := worked(t)
	b := open(t, fmt.Sprintf("#/conversation/%s?message=%d", a.ID, id))
	b.until(`document.querySelector('#desk .message')`)
	if text := b.text("#desk"); !strings.Contains(text, secret) {
		t.Errorf("the message is not shown whole: %.300s", text)
	}
	b.click("#pin")
	b.until(`document.querySelector('#pin')?.innerText === 'Unpin'`)
	a.User("And the phrase?")
	a.must(a.Say(t.Context(), "Here it is."))
	if !strings.Contains(model.Last(), secret) {
		t.Error("the next call does not keep the pinned message")
	}
	stripAt(t, a.ID, 16)
	// The page follows the call by itself, and unpins with a key.
	b.until(`document.querySelector('.at')?.innerText.startsWith('Call 16')`)
	b.until(`document.querySelector('#pin')?.innerText === 'Unpin'`)
	b.do(chromedp.KeyEvent("p"))
	b.until(`document.querySelector('#pin')?.innerText === 'Pin'`)
	if s := stripAt(t, a.ID, 16); len(s.Pinned) > 0 {
		t.Errorf("pinned %v", s.Pinned)
	}
}

func TestUndoInThePageShowsTheMessageInTheNextCall(t *testing.T) {
	a, _ := worked(t)
	b := open(t, "#/conversation/"+a.ID+"?tab=plans")
	var plans struct {
		Items []struct{ ID, Left string }
	}
	api(t, "conversations/"+a.ID+"/plans", &plans)
	plan := ""
	for _, p := range plans.Items { // the first that took it out
		if strings.Contains(","+p.Left+",", ",3,") || strings.Contains(","+p.Left, ",3-") ||
			strings.HasPrefix(p.Left, "2-") || strings.HasPrefix(p.Left, "1-") {
			plan = p.ID
		}
	}
	if plan == "" {
		t.Fatalf("no plan took message 3 out: %+v", plans)
	}
	b.click("#plan-" + plan + " .undo")
	preview := b.text("#plan-" + plan + " .preview")
	if !strings.Contains(preview, "Comes back:") || !strings.Contains(preview, "Must leave for it:") {
		t.Errorf("the preview says %q", preview)
	}
	b.click("#do-undo")
	b.until(`document.querySelector('#toast').innerText.includes('undone')`)
	a.User("Show me the phrase.")
	a.must(a.Say(t.Context(), "Here it is."))
	if !strings.Contains(model.Last(), secret) {
		t.Error("the next call does not show what was undone")
	}
	stripAt(t, a.ID, 16)
	b.until(`[...document.querySelectorAll('button')].some((b) => b.innerText.startsWith('Release'))`)
}

const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script><style>body{display:none}</style>` +
	"\u202egnp.exe\u202c </pre></textarea><a href=\"javascript:document.title='owned'\">click</a> {{7*7}} ${7*7} &lt;b&gt; \u0007 https://evil.example/x.png"

func TestHostileContentStaysText(t *testing.T) {
	a := &agent{newSession(t, 0), t}
	a.User(hostile)
	a.must(a.Tool(t.Context(), hostile, "Bash", `{"command":"<script>document.title='owned'</script>"}`, hostile))
	a.must(a.Say(t.Context(), hostile))
	st := stripAt(t, a.ID, 2)
	at := "#/conversation/" + escape(a.ID)
	states := []string{"#/conversations", "", "#/usage?by=project", "#/usage?by=conversation", "#/window?since=24h",
		"#/window?conversation=" + escape(a.ID), "#/recall?q=" + escape(hostile[:100]),
		"#/constructor", "#/__proto__/x", "#/toString?a=b", at + "?tab=sent", at + "?tab=sent&raw=bytes",
		at + "?tab=diff", at + "?tab=plans", at +
			"?tab=window"}
	for id := range st.Count {
		states = append(states, fmt.Sprintf("%s?message=%d", at, id+1))
	}
	b := open(t, "")
	for _, state := range states {
		b.visit(state)
		if got := eval[string](b, `document.title`); got == "owned" {
			t.Errorf("%s: a script ran", state)
		}
		if n := eval[int](b,
			`document.querySelectorAll('main img, main script, main style, main a[href^=javascript], main iframe').length`); n > 0 {
			t.Errorf("%s: %d elements were made of text", state, n)
		}
	}
	text := b.text("#desk .text")
	if !strings.Contains(text, "<script>document.title='owned'</script>") || !strings.Contains(text, "U+202E") ||
		strings.Contains(text, "\u202e") {
		t.Errorf("the text is shown as %q", text)
	}
}

func TestConversationOfThirtyThousandMessagesOpensAndScrolls(t *testing.T) {
	const n = 30_000
	a := &agent{newSession(t, 20_000), t}
	for i := 0; a.Len() < n-1; i++ {
		a.Add("user", fmt.Sprintf("Question %d about the pier, with some words so that it has a size: %s", i,
			strings.Repeat("and so on ", i%23)))
		if a.Len() < n-1 {
			a.Add("assistant", fmt.Sprintf("Answer %d: to the east of the harbour.", i))
		}
	}
	a.must(a.Say(t.Context(), "That is all."))
	a.User("One more.")
	a.must(a.Say(t.Context(), "The last answer."))
	if st := stripAt(t, a.ID, 2); st.Count < n {
		t.Fatalf("the conversation has %d messages", st.Count)
	}
	b := open(t, "")
	began := time.Now()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = '#/conversation/%s?message=15000'", a.ID)))
	b.until(`document.querySelector('[data-drawn]') && document.querySelector('#desk .message')`)
	opened := time.Since(began)
	nodes := func() int { return eval[int](b, `document.querySelectorAll('*').length`) }
	for _, to := range []float64{0, 1, 0.5} {
		b.do(chromedp.Evaluate[chromedp.Void](
			fmt.Sprintf("(() => { const l = document.querySelector('.messages .virtual'); l.scrollTop = %g * l.scrollHeight; const s = document.querySelector('.pane'); s.scrollLeft = %[1]g * s.scrollWidth; })()", to)))
		id := []string{"1", "30,0", "15,"}[slices.Index([]float64{0, 1, 0.5}, to)]
		b.until(fmt.Sprintf(`[...document.querySelectorAll('.messages .row .id')].some((r) => r.innerText.trim().startsWith(%q)) && [...document.querySelectorAll('.messages .row .words')].some((w) => /Question|Answer/.test(w.innerText))`, id))
		if got := nodes(); got > 1500 {
			t.Errorf("the page has %d elements", got)
		}
	}
	t.Logf("opened in %v with %d elements", opened.Round(time.Millisecond), nodes())
}

func TestPagesAreAccessibleAndFitTheScreen(t *testing.T) {
	a, id := worked(t)
	at := "#/conversation/" + a.ID
	states := map[string]string{
		"overview": "", "conversations": "#/conversations", "search": "#/conversations?search=vault",
		"nothing found": "#/conversations?search=zyzzyva",
		"message":       fmt.Sprintf("%s?message=%d", at, id), "plans": at + "?tab=plans",
		"undo": at + "?tab=plans&plan=p1&preview=1", "no such conversation": "#/conversation/none-of-these",
		"sent": at + "?tab=sent", "bytes": at + "?tab=sent&raw=bytes", "diff": at + "?tab=diff", "call window": at +
			"?tab=window",
		"usage": "#/usage", "by model": "#/usage?by=model&since=24h", "window": "#/window?since=24h",
		"recall": "#/recall", "recalled": "#/recall?q=phrase+of+the+vault", "settings": "#/settings",
		"help": "#/settings?help",
	}
	b := open(t, "")
	b.missing = true
	for name, state := range states {
		b.visit(state)
		switch name {
		case "undo":
			b.until(`document.querySelector('.preview')`)
		case "help":
			b.do(chromedp.KeyEvent("?"))
			b.until(`document.querySelector('dialog[open]')`)
		}
		for _, width := range []int64{1280, 390} {
			b.size(width)
			b.accessible(fmt.Sprintf("%s at %d", name, width))
			if over := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s at %d: %d pixels do not fit", name, width, over)
			}
		}
	}
}

// On paper a page is light, also if the screen is dark, without what can only be clicked, and
// whole: nothing scrolls.
func TestPagesPrintLightAndWhole(t *testing.T) {
	a, id := worked(t)
	b := open(t, "")
	for _, state := range []string{fmt.Sprintf("#/conversation/%s?message=%d", a.ID, id), "#/conversation/" + a.ID,
		"#/conversations"} {
		b.visit(state)
		b.until(`document.querySelector('.message, .row')`)
		b.media("print", true)
		b.size(700) // of a sheet
		if ink := eval[string](b, `getComputedStyle(document.body).color`); ink != "rgb(27, 29, 28)" {
			t.Errorf("%s: the text is %s", state, ink)
		}
		for _, fault := range eval[[]string](b,
			`[...document.querySelectorAll('main *')].filter((n) => n.checkVisibility() && !n.closest('.unseen, svg') && (n.matches('.actions button, [role=tab], input[type=range]') || n.scrollHeight > n.clientHeight + 2 && /auto|scroll/.test(getComputedStyle(n).overflowY))).map((n) => n.outerHTML.slice(0, 120))`) {
			t.Errorf("%s: on paper is %s", state, fault)
		}
		if over := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s: %d pixels do not fit", state, over)
		}
		if tops := eval[[]float64](b,
			`[...document.querySelectorAll('.row')].filter((n) => n.checkVisibility()).sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map((n) => n.getBoundingClientRect().top)`); !slices.IsSorted(tops) || state == "#/conversations" && len(tops) == 0 {
			t.Errorf("%s: the rows are at %v", state, tops)
		}
		b.media("", false)
		b.size(1280)
	}
}

// accessible fails the test for every serious fault that axe-core finds in the page as it
// is, light and dark. Between the two only colours differ.
func (b *tab) accessible(name string) {
	b.Helper()
	source := axe()
	if source == "" {
		return
	}
	if !eval[bool](b, `!!window.axe`) {
		eval[bool](b, source+"; true")
	}
	for _, dark := range []bool{false, true} {
		only := ""
		if dark {
			only = `, runOnly: ['color-contrast', 'link-in-text-block']`
		}
		b.scheme(dark)
		for _, fault := range eval[[]string](b,
			`Promise.allSettled(document.getAnimations().map((a) => a.finished)).then(() => axe.run(document, { resultTypes: ['violations']`+only+` })).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target + ' ' + n.failureSummary).join(' | ')))`) {
			b.Errorf("%s, dark %v: %s", name, dark, fault)
		}
	}
}

// axe returns the source of axe-core, which npm installs where it can, or "".
var axe = sync.OnceValue(func() string {
	dir := filepath.Join(folder, "axe")
	cmd := exec.Command("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "axe-core@4")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Printf("!! SKIPPED: axe-core, for want of npm (%v %.100s)\n", err, out)
		return ""
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		panic(err)
	}
	return string(source)
})

func TestCallsAppearWithoutReloading(t *testing.T) {
	b := open(t, "")
	b.until(`document.querySelector('#live')?.innerText === 'live'`)
	a := &agent{newSession(t, 0), t}
	a.User("Is the bridge open?")
	a.must(a.Say(t.Context(), "Until six."))
	b.until(`[...document.querySelectorAll('.feed li')].some((r) => r.innerText.includes('Is the bridge open?') && /\s\d+(\.\d)? m?s\b/.test(r.innerText))`)
	if health := b.text("[aria-labelledby=health]"); !strings.Contains(health, "Spool\nempty") ||
		!strings.Contains(health, "Learnt limits\nnone") {
		t.Errorf("the overview says of its health: %s", health)
	}
	b.visit("#/usage?by=model")
	b.until(`[...document.querySelectorAll('.usage tbody tr')].some((r) => /^claude-sonnet-4-5\s+\d/.test(r.innerText)) && document.querySelector('.usage tfoot')`)
	b.until(`/^Cache: \d+% of prompts were read/.test(document.querySelector('#cache h2')?.innerText)`)
	b.visit("#/conversations")
	a.User("And tomorrow?")
	a.must(a.Say(t.Context(), "From seven."))
	stripAt(t, a.ID, 2)
	b.until(`[...document.querySelectorAll('.conversations .row')].find((r) => r.innerText.includes('Is the bridge open?'))?.innerText.includes('4 messages')`)
	b.visit("#/conversation/" + a.ID)
	b.until(`/^cache \d+%/.test(document.querySelector('#cache')?.innerText)`)
}

func TestKeysMoveOverMessagesAndCalls(t *testing.T) {
	a := &agent{newSession(t, 0), t}
	a.User("One.")
	for i := range 3 {
		a.must(a.Say(t.Context(), fmt.Sprintf("Answer %d.", i)))
		a.User("Next.")
	}
	stripAt(t, a.ID, 3)
	b := open(t, "#/conversation/"+a.ID)
	b.until(`document.querySelector('.at')?.innerText === 'Call 3 of 3'`)
	b.do(chromedp.KeyEvent("["))
	b.until(`document.querySelector('.at').innerText === 'Call 2 of 3' && location.hash.includes('call=2')`)
	b.do(chromedp.Focus(chromedp.CSS(".pane")))
	for range 2 {
		b.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	b.until(`location.hash.includes('message=2') && document.querySelector('#desk h2')?.innerText === 'Message 2' && document.querySelector('.pane').ariaValueText.includes('model')`)
	b.do(chromedp.KeyEvent("?"))
	b.until(`document.querySelector('dialog[open]')?.innerText.includes('Keys')`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.querySelector('dialog')`)
	// A screen reader gets a table of the strip, and everybody the messages as a file.
	b.until(`document.querySelector('.strip table')?.innerText.includes('1 to 3') && document.querySelector('.strip table').innerText.includes('came later')`)
	lines := strings.Split(eval[string](b, `fetch(document.querySelector('#export').href).then((r) => r.text())`), "\n")
	if len(lines) != 7 || !strings.Contains(lines[0], "One.") || !strings.Contains(lines[5], "Answer 2.") ||
		lines[6] != "" {
		t.Errorf("exported %q", lines)
	}
}

// Everything that a mouse reaches the key Tab reaches, in the order of the page, and it can
// be seen where it is.
func TestTabReachesEverythingInOrderAndShowsWhereItIs(t *testing.T) {
	a, _ := worked(t)
	b := open(t, "#/conversation/"+a.ID+"?tab=plans")
	b.until(`document.querySelector('.plan .undo') && document.querySelector('.messages .row .words')`)
	b.do(chromedp.KeyEvent(kb.Tab))
	b.until(`document.activeElement.classList.contains('skip') && document.activeElement.getBoundingClientRect().left >= 0`)
	eval[bool](b, `(() => {
		window.reached = [];
		window.unseen = [];
		document.addEventListener('focusin', (e) => {
			const name = (n) => n.id || n.className || n.innerText;
			reached.push(e.target);
			const s = getComputedStyle(e.target);
			if (!e.target.matches('main, .skip') && (s.outlineStyle === 'none' || parseFloat(s.outlineWidth) < 2)) unseen.push(name(e.target));
		});
		return true;
	})()`)
	for range 40 {
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	if missed := eval[[]string](b,
		`[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')].filter((n) => n.checkVisibility() && !n.disabled && n.tabIndex >= 0 && !n.matches('.skip') && !reached.includes(n)).map((n) => n.outerHTML.slice(0, 120))`); len(missed) > 0 {
		t.Errorf("not reached: %q", missed)
	}
	if unseen := eval[[]string](b, `window.unseen`); len(unseen) > 0 {
		t.Errorf("the focus cannot be seen at %q", unseen)
	}
	if back := eval[[]string](b,
		`(() => { const once = [...new Set(reached)]; return once.filter((n, i) => i > 0 && !(once[i - 1].compareDocumentPosition(n) & Node.DOCUMENT_POSITION_FOLLOWING) && !n.matches('.skip')).map((n) => n.outerHTML.slice(0, 120)); })()`); len(back) > 0 {
		t.Errorf("out of order: %q", back)
	}
	// The preview of an undo has the focus, and Escape gives it back.
	b.click(".plan .undo")
	b.until(`document.activeElement.id === 'do-undo'`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.querySelector('.preview') && document.activeElement.classList.contains('undo')`)
}
