package thread

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
)

// Many conversations end each request with the same reminder of their client. The search for
// one of them does not end among the others.
func TestAReminderThatAllRequestsEndWithHidesNoConversation(t *testing.T) {
	c := newCrowd(t, 0)
	reminder := said(chat.System, "Return nothing but code.")
	long := func(name string) string {
		return strings.Repeat(name+" is what the model said, and said at length. ", 8)
	}
	for k := range 2 * maxSimilar {
		var history []chat.Message
		for turn := range 40 {
			name := fmt.Sprintf("%d.%d", k, turn)
			history = append(history, said(chat.User, "question "+name))
			c.call("", append(history[:len(history):len(history)], reminder), long(name))
			history = append(history, said(chat.Assistant, long(name)))
		}
	}
	first := said(chat.User, "a question of somebody else")
	was := c.call("", []chat.Message{first, reminder}, long("the reply"))
	is := c.call("", []chat.Message{first, said(chat.Assistant, long("the reply")), said(chat.User, "and now?"),
		reminder}, "")
	if is.Conversation != was.Conversation {
		t.Errorf("the second call of %s is %s %s", was.Conversation, is.Conversation, is.Kind)
	}
}

// A request that goes on from a reply waits for it, although its client has moved a reminder
// that stood behind or in the question.
func TestTheReplyBehindAReminderIsWaitedFor(t *testing.T) {
	for first, then := range map[string]string{"u1 snote": "u1 along1 u2 snote", "wu1": "u1 along1 wu2"} {
		synctest.Test(t, func(t *testing.T) {
			s := newPlay(t)
			s.do("call A : " + first)
			out := make(chan string)
			go func() {
				th, err := s.book.Find(ctx, &Request{Tenant: timeline.Local, Messages: s.messages(strings.Fields(then)),
					Now: s.now})
				out <- fmt.Sprint(th.Conversation == s.calls["A"].Conversation, " ", th.Kind, " ", err)
			}()
			synctest.Wait()
			s.book.Done(s.calls["A"].Thread, s.messages([]string{"along1"}), "")
			if got := <-out; got != "true continued <nil>" {
				t.Errorf("%s: %s", then, got)
			}
		})
	}
}

// A request that begins with a summary waits for the call that writes it.
func TestTheSummaryThatAHistoryBeginsWithIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlay(t)
		s.do("call A : u1")
		s.do("reply A a1")
		s.do("call S : u1 a1 uasks")
		out := make(chan string)
		go func() {
			th, err := s.book.Find(ctx, &Request{Tenant: timeline.Local, Messages: s.messages([]string{"apast1", "u2"}),
				Now: s.now})
			out <- fmt.Sprint(th.Continues == s.calls["A"].Conversation, " ", th.Kind, " ", err)
		}()
		synctest.Wait()
		s.book.Done(s.calls["S"].Thread, s.messages([]string{"atold1"}), "")
		if got := <-out; got != "true compacted <nil>" {
			t.Error(got)
		}
	})
}
