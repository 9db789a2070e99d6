package thread

import (
	"testing"

	"github.com/oriel-context/oriel/timeline"
)

// The calls of a session that was imported before belong to its conversation, as its main
// line, also if the file has the messages in another form.
func TestCallsOfAnImportedSession(t *testing.T) {
	s := newPlay(t)
	var file []timeline.Message
	for _, w := range []string{"u1+", "aother", "u2", "ax2"} {
		m := s.messages([]string{w})[0]
		file = append(file, timeline.Message{Raw: m.Raw, Format: timeline.FormatAnthropic, Role: string(m.Role),
			Identity: timeline.HashOf([]byte(w)), Time: s.now})
	}
	if _, err := s.store.Apply(ctx, timeline.Local, timeline.Change{Conversation: "ses_1", Messages: file,
		Now: s.now}); err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, line := range []string{
		"call A session=ses_1 : u1 a1 u2 a2 u3", "reply A a3",
		"call B session=ses_1 : u1 a1 u2 a2 u3 a3 u4", "reply B a4",
		"restart",
		"call C session=ses_1 : u1 a1 u2 a2 u3 a3 u4 a4 u5", "reply C a5",
		"call D session=ses_1 : uother",
	} {
		out += s.do(line)
	}
	if want := "A: ses_1 new, 0 of 5 known\nB: ses_1 continued, 6 of 7 known\nC: ses_1 continued, 8 of 9 known\nD: ses_1~2 new, 0 of 1 known\n"; out != want {
		t.Errorf("%s\nwant %s", out, want)
	}
	c, err := s.store.Conversation(ctx, timeline.Local, "ses_1")
	if err != nil || c.Head.Depth != 10 {
		t.Errorf("the head is %v, %v", c.Head, err)
	}
	if heads, err := s.store.Heads(ctx, timeline.Local, "ses_1"); err != nil || len(heads) != 2 {
		t.Errorf("%d heads, %v", len(heads), err)
	}
}
