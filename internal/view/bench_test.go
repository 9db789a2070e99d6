package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// BenchmarkShow is what a view costs on top of finding the conversation: of a request
// within its budget, of one that an earlier cut is applied to, and of one that is cut.
// The messages before the newest were counted by earlier calls, as they are in life.
func BenchmarkShow(b *testing.B) {
	for _, size := range []struct {
		name      string
		exchanges int
		words     int // of a result
	}{{"2kB", 2, 100}, {"200kB", 50, 700}, {"1MB", 250, 700}} {
		body := func(n int) []byte {
			var list strings.Builder
			list.WriteString(`{"role":"user","content":"Fix the failing test."}`)
			for i := range n {
				fmt.Fprintf(&list,
					`,{"role":"assistant","content":[{"type":"text","text":"I look at file %d."},{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"src/file%d.go"}}]}`, i, i, i)
				fmt.Fprintf(&list,
					`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, i,
					strings.Repeat(fmt.Sprintf("line%d ", i), size.words))
			}
			return fmt.Appendf(nil, `{"model":"my-model","max_tokens":1000,"messages":[%s]}`, list.String())
		}
		for _, c := range []struct {
			name  string
			share float64 // of the request, which the budget is
			again bool
		}{{"whole", 2, false}, {"cut before", .9, true}, {"cut", .9, false}} {
			b.Run(size.name+"/"+c.name, func(b *testing.B) {
				data := body(size.exchanges)
				a := ask{format: wire.Anthropic, session: "s", Input: Input{Budget: 1 << 30, Asked: true}}
				s := newStage(b, Options{})
				first := s.find(data, a)
				if err := s.show(first, a); err != nil {
					b.Fatal(err)
				}
				a.Budget = int(float64(first.Before) * c.share)
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					b.StopTimer()
					s := newStage(b, Options{})
					call := s.find(data, a)
					if c.again {
						if err := s.show(call, a); err != nil {
							b.Fatal(err)
						}
					}
					in := a.Input
					in.Body, in.Thread, in.Now = call.body, call.thread, s.now
					b.StartTimer()
					r, err := s.viewer.Show(ctx, &in)
					if err != nil || (r.Cut != nil) != (c.share < 1) || r.New != (c.share < 1 && !c.again) {
						b.Fatal(r.Action, r.New, err)
					}
				}
			})
		}
	}
}
