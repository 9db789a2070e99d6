//go:build !oriel_nomodel

package minilm

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/vector/mat"
)

// BenchmarkEmbed is the time from text to vector on one thread. tools/bench/minilm/run
// measures it beside onnxruntime.
func BenchmarkEmbed(b *testing.B) {
	for _, kernels := range mat.All() {
		m, err := Open(Options{Threads: 1, Kernel: kernels.Name})
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		for _, pieces := range []int{16, 32, 64, 128, 256} {
			// Each word is one piece; the first and the last are added.
			text := []string{strings.Repeat("the cat sat on a mat and saw ", 40)}
			text[0] = strings.Join(strings.Fields(text[0])[:pieces-2], " ")
			b.Run(fmt.Sprintf("%s/%d", kernels.Name, pieces), func(b *testing.B) {
				dst := make([]float32, width)
				b.ReportAllocs()
				for b.Loop() {
					if err := m.EmbedInto(context.Background(), dst, text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
