package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// A call that sends only what follows a reply that its provider holds goes as it came, and
// says so, also below a cut. What the provider holds is not recalled.
func TestWhatGoesAsItCameHasNoAction(t *testing.T) {
	s := newStage(t, Options{})
	s.library()
	defer s.close()
	a := ask{format: wire.Responses, session: "s", Input: Input{Profile: "thrifty", Budget: 2000}}
	item := func(role, text string) string {
		return fmt.Sprintf(`{"type":"message","role":%q,"content":%q}`, role, text)
	}
	var list []string
	for i := range 20 {
		list = append(list, item("user", fmt.Sprintf("question %d ", i)+strings.Repeat("of words ", 80)),
			item("assistant", fmt.Sprintf("answer %d", i)))
	}
	list = append(list, item("user", "Thanks."))
	body := func(rest string, items ...string) []byte {
		return fmt.Appendf(nil, `{"model":"gpt-5"%s,"input":[%s]}`, rest, strings.Join(items, ","))
	}
	s.began(body("", list...), a)
	k := s.find(body("", list...), a)
	if err := s.show(k, a); err != nil {
		t.Fatal(err)
	}
	if k.Action == "none" {
		t.Fatal("no cut: the test shows nothing")
	}
	reply, err := wire.ReadMessage(wire.Responses, []byte(item("assistant", "Now it is late.")))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.recall.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	s.book.Done(k.thread, []chat.Message{reply}, "resp_1")
	data := body(`,"previous_response_id":"resp_1"`, item("user", "What was question 3 of words?"))
	k = s.find(data, a)
	if err := s.show(k, a); err != nil {
		t.Fatal(err)
	}
	if k.Action != "none" || k.Changed || !bytes.Equal(k.Result.Body, data) {
		t.Errorf("%s, changed %t, behind %d messages", k.Action, k.Changed, len(k.thread.Before))
	}
	if len(k.thread.Before) == 0 {
		t.Error("it continues nothing: the test shows nothing")
	}
}
