package wire_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/jsonsample"
	"github.com/oriel-context/oriel/wire"
)

// BenchmarkRead checks the JSON of an agent's request and reads every message. To compare, it
// also measures sha256 of the same bytes.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{2 << 10, 200 << 10, 1 << 20} {
		data := jsonsample.Request(size)
		b.Run(fmt.Sprintf("wire/%dkB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Read(data, wire.Anthropic, wire.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("sha256/%dkB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				sha256.Sum256(data)
			}
		})
	}
}

// BenchmarkCut finds the legal cuts and writes half of the history back.
func BenchmarkCut(b *testing.B) {
	data := jsonsample.Request(1 << 20)
	body, err := wire.Read(data, wire.Anthropic, wire.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		cuts := chat.NewCuts(body.Messages, body.Rules())
		want := make([]bool, len(cuts.Exchanges))
		for i := len(want) / 2; i < len(want); i++ {
			want[i] = true
		}
		if _, err := body.Write(body.Select(cuts.Messages(cuts.Keep(want)))); err != nil {
			b.Fatal(err)
		}
	}
}
