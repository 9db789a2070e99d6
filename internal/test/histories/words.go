package histories

import (
	"strings"

	"pgregory.net/rapid"
)

// sayings are texts of the kinds that have broken readers of JSON and cutters of
// histories: quotes and brackets, escapes, scripts, control characters, text that
// looks like structure. None is blank.
var sayings = []string{
	"ok",
	"Please fix the bug in the parser.",
	`She said "no" and wrote C:\temp\new`,
	"line one\nline two\r\n\tindented",
	"naïve café – déjà vu",
	"日本語のテキストと 한국어",
	"emoji 😀👩‍💻🏳️‍🌈 and 𝒳",
	`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_0001"}]}`,
	`"messages":[`,
	"a/b</script><!-- -->",
	"nul \x00 bell \x07 unit \x1f del \x7f",
	"separators \u2028 and \u2029, bom \ufeff",
	"]}],",
	`\u00e9 \\u00e9 \"`,
	"  leading and trailing  ",
	"<system-reminder>\nThe task tools have not been used recently.\n</system-reminder>",
	"right to left: שלום",
	"combining: e\u0301 a\u030a",
}

// text draws a text that is not blank.
func (g *gen) text() string {
	s := rapid.SampledFrom(sayings).Draw(g.t, "text")
	if g.one(12, "long") {
		s = strings.Repeat(s+" ", rapid.IntRange(2, 40).Draw(g.t, "times"))
	}
	return s
}

// blob draws what looks like base64 of something opaque.
func (g *gen) blob() string {
	s := rapid.StringOfN(rapid.RuneFrom([]rune("ABCdef012+/")), 4, 24, -1).Draw(g.t, "blob")
	return s + "=="
}

// arguments draws the arguments of a call, as JSON text.
func (g *gen) arguments() string {
	if g.opt.Plain {
		return g.pick("arguments", `{}`, `{"path":"a/b.go","limit":1}`)
	}
	return g.pick("arguments", `{}`, `{"path":"a/b.go","limit":1.0}`, `{"q":"\u00e9 \"x\"", "n":1e2}`,
		"{\r\n\t\"deep\": [[{\"type\":\"tool_result\",\"tool_use_id\":\"x\"}]] }", `{"path":"a","path":"b"}`)
}

// tool draws the name of a tool.
func (g *gen) tool() string { return g.pick("tool", "read", "exec_command", "mcp__files__list") }
