package report_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/oriel-context/oriel/internal/report"
)

// BenchmarkShort shortens the ids of 10,000 sessions of which some have sub-agents.
func BenchmarkShort(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var names []string
	for len(names) < 10_000 {
		session := fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12),
			r.Int64N(1<<48))
		names = append(names, session)
		for i := range max(0, r.IntN(20)-15) {
			names = append(names, fmt.Sprintf("%s/agent-%d", session, i+1))
		}
	}
	for b.Loop() {
		report.Short(names)
	}
}
