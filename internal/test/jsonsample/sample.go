// Package jsonsample makes request bodies for the tests and benchmarks of rawjson.
package jsonsample

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

var (
	prose = []string{
		"I'll look at the failing test first, then at the code it covers. ",
		"The function returns early when the context is cancelled, so the deferred close never sees the error. ",
		"Let me run the suite again with the race detector. ",
		"That is expected: the retry loop swallows the first failure — see the comment above it. ",
		"Good catch. The naïve version works, but it is quadratic in the number of messages… ",
		"Done ✅ all 214 tests pass. ",
	}
	code = []string{
		`func (s *Store) Append(ctx context.Context, m Message) error {\n\tif err := ctx.Err(); err != nil {\n\t\treturn fmt.Errorf(\"append: %w\", err)\n\t}\n`,
		`     1\tpackage main\n     2\t\n     3\timport (\n     4\t\t\"fmt\"\n     5\t\t\"os\"\n     6\t)\n`,
		`ok  \tgithub.com/example/project/store\t0.412s\n--- FAIL: TestAppend (0.01s)\n    store_test.go:42: got 3 messages, want 4\n`,
		`total 48\ndrwxr-xr-x  7 user user 4096 Jan 12 10:11 .\n-rw-r--r--  1 user user  812 Jan 12 10:11 go.mod\n`,
		`{\"name\": \"lookup\", \"path\": \"C:\\\\Users\\\\dev\", \"ok\": true}\n`,
		`const re = /^[a-z]+\\d{2,}$/;\nconsole.log(\"matched\", re.test(input));\n`,
	}
)

// Request returns an invented request of an agent to a Messages API, of about
// size bytes: long strings with many escapes, some text that is not ASCII,
// tool calls and their results. The same size always returns the same bytes.
func Request(size int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	text := func(b *bytes.Buffer, from []string, n int) {
		for end := b.Len() + n; b.Len() < end; {
			b.WriteString(pick(from))
		}
	}
	var b bytes.Buffer
	b.WriteString(`{"model":"example-large","max_tokens":32000,"temperature":1.0,"stream":true,"system":[{"type":"text","text":"`)
	text(&b, prose, size/40)
	b.WriteString(`","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}],"messages":[{"role":"user","content":"`)
	text(&b, prose, size/100)
	b.WriteString(`"}`)
	for i := 0; b.Len() < size-200; i++ {
		b.WriteString(`,{"role":"assistant","content":[{"type":"text","text":"`)
		text(&b, prose, rng.IntN(500))
		fmt.Fprintf(&b, `"},{"type":"tool_use","id":"toolu_%024d","name":"read","input":{"path":"/home/dev/project/internal/store/store_%d.go","limit":%d}}]}`, i, i, rng.IntN(2000))
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%024d","content":[{"type":"text","text":"`, i)
		text(&b, code, min(rng.IntN(4500), size/4))
		b.WriteString(`"}]}]}`)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}
