package rawjson

import (
	"testing"

	"github.com/oriel-context/oriel/internal/test/jsonsample"
)

func request(size int) []byte { return jsonsample.Request(size) }

func TestTheMadeUpRequestIsJSON(t *testing.T) {
	for _, size := range []int{2 << 10, 200 << 10, 1 << 20} {
		data := request(size)
		want, offset, ok := parseReference(data)
		if !ok {
			t.Fatalf("refused at byte %d", offset)
		}
		d, err := Parse(data, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes, %d messages, %d values", len(data), d.Root().Get("messages").Len(), len(want))
		for i, s := range want {
			if e := d.tape[i]; int(e.start) != s.start || int(e.end) != s.end {
				t.Fatalf("value %d at %d:%d, want %d:%d", i, e.start, e.end, s.start, s.end)
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"2kB", 2 << 10}, {"200kB", 200 << 10}, {"1MB", 1 << 20}} {
		data := request(size.bytes)
		for name, k := range kernels() {
			b.Run(size.name+"/"+name, func(b *testing.B) {
				d, lim := new(Doc), Limits{}.withDefaults()
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := d.reset(data, lim, k); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
