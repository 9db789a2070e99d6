package thread

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/oriel-context/oriel/timeline"
)

// A request that goes on from a reply waits for it, although its client has moved a reminder
// that stood behind the question.
func TestTheReplyBehindAReminderIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlay(t)
		s.do("call A : u1 snote")
		out := make(chan string)
		go func() {
			th, err := s.book.Find(ctx, &Request{Tenant: timeline.Local, Messages: s.messages([]string{"u1", "along1", "u2", "snote"}), Now: s.now})
			out <- fmt.Sprint(th.Conversation == s.calls["A"].Conversation, " ", th.Kind, " ", err)
		}()
		synctest.Wait()
		s.book.Done(s.calls["A"].Thread, s.messages([]string{"along1"}), "")
		if got := <-out; got != "true continued <nil>" {
			t.Error(got)
		}
	})
}
