package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/build"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/oriel-context/oriel/timeline"
)

// readSource returns Go's own source text: what a coding agent reads, and
// nothing that the store's dictionary was made of.
func readSource() ([]byte, error) {
	var b bytes.Buffer
	err := filepath.WalkDir(filepath.Join(build.Default.GOROOT, "src"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			// Generated tables are not text.
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, "zerrors") ||
				strings.Contains(path, "tables") || strings.Contains(path, "Gen.go") {
				return nil
			}
			raw, err := os.ReadFile(path)
			b.Write(raw)
			return err
		})
	if err == nil && b.Len() < 1<<20 {
		err = fmt.Errorf("no source text in %s", build.Default.GOROOT)
	}
	return b.Bytes(), err
}

// next returns the next message of about size bytes, the result of a tool.
func (b *bench) next(size int) []byte {
	if b.used+size > len(b.source) {
		b.used = 0
	}
	text := b.source[b.used : b.used+size]
	b.used += size
	raw, err := json.Marshal(map[string]any{"role": "user", "content": []any{map[string]any{
		"type": "tool_result", "tool_use_id": fmt.Sprintf("toolu_01%016x", rand.Uint64()),
		"content": string(bytes.ToValidUTF8(text, nil))}}})
	check(err)
	return raw
}

// kilobytes returns n messages of 1 kB.
func (b *bench) kilobytes(n int) []timeline.Message {
	all := make([]timeline.Message, n)
	for i := range all {
		all[i] = message(b.next(820))
	}
	return all
}

func message(raw []byte) timeline.Message {
	return timeline.Message{Identity: timeline.HashOf(raw), Raw: raw, Format: "anthropic", Role: "user"}
}

// size draws the size of a text with the distribution of recorded coding
// sessions: half below 260 bytes, a tenth above 2,600, the mean about 1,200.
func size(r *rand.Rand) int {
	return min(64<<10, max(40, int(260*math.Exp(1.75*r.NormFloat64()))))
}
