// Package mixtext builds the text on which token counting is measured: equal
// parts of prose, Go source, JSON and log lines. Prose and source come from
// the Go distribution, the rest is generated; the same Go release gives the
// same text. Parts are interleaved in stretches of 16 KB, as the turns of a
// conversation with tools are.
package mixtext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const stretch = 16 << 10

// Build returns about size bytes of mixed text, valid UTF-8.
func Build(size int) ([]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the Go distribution: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	prose, err := os.ReadFile(filepath.Join(src, "testdata", "Isaac.Newton-Opticks.txt"))
	if err != nil {
		return nil, err
	}
	var code []byte
	for _, dir := range []string{"net/http", "runtime", "go/types"} {
		files, err := filepath.Glob(filepath.Join(src, dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			code = append(code, data...)
		}
	}
	g := generator{rand.New(rand.NewPCG(1, 2)), strings.Fields(string(prose[:1<<16]))}
	sources := []func() []byte{reader(prose), reader(code), g.json, g.log}
	var out []byte
	for i := 0; len(out) < size; i++ {
		out = append(out, sources[i%len(sources)]()...)
	}
	for size < len(out) && !utf8.RuneStart(out[size]) {
		size--
	}
	return out[:size], nil
}

// reader returns a function that gives the next stretch of data, cut at a
// line, and starts again at the end.
func reader(data []byte) func() []byte {
	at := 0
	return func() []byte {
		if at+2*stretch > len(data) {
			at = 0
		}
		end := at + stretch
		end += bytes.IndexByte(data[end:], '\n') + 1
		start := at
		at = end
		return data[start:end]
	}
}

type generator struct {
	*rand.Rand
	words []string
}

func (g *generator) sentence(n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = g.words[g.IntN(len(g.words))]
	}
	return strings.Join(s, " ")
}

func (g *generator) path() string {
	dirs := []string{"internal", "server", "handlers", "storage", "user_service", "billing", "utils", "v2"}
	return fmt.Sprintf("/srv/app/%s/%s/%s_%d.go", dirs[g.IntN(8)], dirs[g.IntN(8)], dirs[g.IntN(8)], g.IntN(40))
}

// json returns tool calls and results, half of them indented.
func (g *generator) json() []byte {
	var out []byte
	for len(out) < stretch {
		v := map[string]any{
			"id": fmt.Sprintf("call_%016x", g.Uint64()), "type": "tool_result", "is_error": g.IntN(9) == 0,
			"created_at": 1700000000 + g.IntN(1<<24), "latency_ms": float64(g.IntN(1<<16)) / 16,
			"input": map[string]any{"file_path": g.path(), "offset": g.IntN(2000), "limit": 200,
				"pattern": g.sentence(2)},
			"content": []any{map[string]any{"type": "text", "text": g.sentence(12+g.IntN(20)) + "\n\t" +
				g.sentence(6)}},
			"usage": map[string]int{"input_tokens": g.IntN(90000), "output_tokens": g.IntN(900),
				"cache_read_input_tokens": g.IntN(80000)},
		}
		line, _ := json.Marshal(v)
		if g.IntN(2) == 0 {
			line, _ = json.MarshalIndent(v, "", "  ")
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// log returns the lines of a server's log.
func (g *generator) log() []byte {
	levels := []string{"INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR"}
	var out []byte
	for len(out) < stretch {
		switch g.IntN(3) {
		case 0:
			out = fmt.Appendf(out, "2026-03-%02dT%02d:%02d:%02d.%03dZ %-5s [worker-%d] %s: %s (took %dms)\n",
				1+g.IntN(28), g.IntN(24), g.IntN(60), g.IntN(60), g.IntN(1000), levels[g.IntN(6)], g.IntN(16), g.path(),
				g.sentence(7), g.IntN(5000))
		case 1:
			out = fmt.Appendf(out,
				"10.%d.%d.%d - - \"GET /api/v1/users/%d/orders?limit=%d HTTP/1.1\" %d %d \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\" rid=%08x-%04x\n", g.IntN(256), g.IntN(256), g.IntN(256), g.IntN(1<<20), g.IntN(100), 200+g.IntN(4)*100, g.IntN(1<<16), g.Uint32(), g.IntN(1<<16))
		default:
			out = fmt.Appendf(out, "time=%d level=%s msg=%q goroutine=%d addr=0x%x\n\t%s:%d +0x%x\n",
				1700000000+g.IntN(1<<24), strings.ToLower(levels[g.IntN(6)]), g.sentence(5), g.IntN(500),
				g.Uint64N(1<<40), g.path(), g.IntN(900), g.IntN(4096))
		}
	}
	return out
}
