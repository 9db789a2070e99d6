package sqlite

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/oriel-context/oriel/timeline"
)

func TestContentsComeBackWhateverTheirSize(t *testing.T) {
	c := newCodecs()
	defer c.free()
	sample := bytes.Repeat([]byte(`{"role":"user","content":[{"type":"text","text":"The tide is in. "}]}`), 100)
	seen := map[int64]bool{}
	for size := range 2000 {
		raw := sample[:size]
		codec, data, err := c.compress(raw)
		if err != nil {
			t.Fatal(err)
		}
		seen[codec] = true
		if len(data) > len(raw) {
			t.Errorf("%d bytes take %d", size, len(data))
		}
		got, err := c.expand(codec, int64(size), data, nil)
		if err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("%d bytes, codec %d: %v", size, codec, err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("codecs %v were used", seen)
	}
}

func TestExpandMakesNoMoreThanWasStored(t *testing.T) {
	c := newCodecs()
	defer c.free()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	bomb := e.EncodeAll(make([]byte, 100<<20), nil)
	for _, size := range []int64{0, 10, 1000, 1 << 20, -1, 1 << 40} {
		if _, err := c.expand(codecZstd, size, bomb, nil); !errors.Is(err, errContent) {
			t.Errorf("size %d: %v", size, err)
		}
	}
	if _, err := c.expand(codecZstd, 10, []byte("no zstd"), nil); !errors.Is(err, errContent) {
		t.Error(err)
	}
}

func TestCachesKeepWhatIsUsed(t *testing.T) {
	c := newCache[int, int](10)
	for i := range 1000 {
		c.put(i, i)
		if v, ok := c.get(0); !ok || v != 0 {
			t.Fatalf("0 was forgotten at %d", i)
		}
		if n := len(c.young) + len(c.old); n > 20 {
			t.Fatalf("%d are kept", n)
		}
	}
	c.drop(0)
	if _, ok := c.get(0); ok {
		t.Error("0 was not dropped")
	}
	c.reset()
	if _, ok := c.get(999); ok {
		t.Error("999 was not forgotten")
	}
}

// What has been stored can be read with this dictionary only.
func TestTheDictionaryNeverChanges(t *testing.T) {
	if got := timeline.HashOf(dictionary).String(); got != "f370ba010269f14dc356f1d6029735fc" {
		t.Errorf("dictionary.zstd is another: %s", got)
	}
}
