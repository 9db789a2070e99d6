package secret

import (
	"fmt"
	"strings"
	"testing"
)

// tools are 40 definitions as agents send them, about 110 kB.
func tools() []byte {
	var b strings.Builder
	b.WriteByte('[')
	for i := range 40 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","description":%q,"input_schema":{"type":"object","properties":{`, i,
			strings.Repeat("what it does and when to use it. ", 60))
		for j := range 8 {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"parameter_%d":{"type":"string","description":"the %d. of them, which says what is wanted"}`, j, j)
		}
		b.WriteString(`},"required":["parameter_0"],"additionalProperties":false}}`)
	}
	b.WriteByte(']')
	return []byte(b.String())
}

func BenchmarkStrip(b *testing.B) {
	raw := tools()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		Remove(raw)
	}
}
