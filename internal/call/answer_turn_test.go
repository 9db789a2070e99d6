package call

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/oriel-context/oriel/wire"
)

// Large answers of a tenant are read one at a time, from their decoding until they are
// written; small ones, compressed or not, and those of other tenants do not wait for them.
func TestLargeAnswersTakeTurns(t *testing.T) {
	body := func(size int) []byte {
		return fmt.Appendf(nil,
			`{"id":"c","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"%s"}}]}`,
			strings.Repeat("a", size))
	}
	synctest.Test(t, func(t *testing.T) {
		turns, tenant := newTurns(), "ann"
		answerOf := func(size int, packed bool) *answer {
			h := http.Header{"Content-Type": {"application/json"}}
			data := body(size)
			if packed {
				h.Set("Content-Encoding", "gzip")
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(data)
				z.Close()
				data = b.Bytes()
			}
			a := newAnswer(wire.Chat, h, tenant, unlimited{}, turns)
			a.write(data)
			return a
		}
		first := answerOf(2<<20, false)
		if r := first.reply(); !r.Complete {
			t.Fatal("it is not whole")
		}
		done := make(chan *answer, 10)
		for i := range 5 {
			a := answerOf(2<<20, i%2 == 0)
			go func() {
				if r := a.reply(); !r.Complete {
					t.Error("it is not whole")
				}
				done <- a
			}()
		}
		synctest.Wait()
		for _, packed := range []bool{false, true} {
			if r := answerOf(1000, packed).reply(); !r.Complete {
				t.Error("a small one is not whole")
			}
		}
		tenant = "bob"
		other := answerOf(2<<20, false)
		if r := other.reply(); !r.Complete {
			t.Error("another tenant's is not whole")
		}
		other.leave()
		before := first
		for range 5 {
			if len(done) != 0 {
				t.Fatal("two large answers are read at a time")
			}
			before.leave()
			synctest.Wait()
			before = <-done
		}
		before.leave()
		before.leave() // which changes nothing
		if before.large != nil || len(turns.decode) != 0 {
			t.Error("a turn was not given back")
		}
	})
}
