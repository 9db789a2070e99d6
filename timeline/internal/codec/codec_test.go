package codec

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/oriel-context/oriel/timeline"
)

func TestContentsComeBackWhateverTheirSize(t *testing.T) {
	c := New()
	defer c.Free()
	sample := bytes.Repeat([]byte(`{"role":"user","content":[{"type":"text","text":"The tide is in. "}]}`), 100)
	seen := map[int64]bool{}
	for size := range 2000 {
		raw := sample[:size]
		codec, data, err := c.Compress(raw)
		if err != nil {
			t.Fatal(err)
		}
		seen[codec] = true
		if len(data) > len(raw) {
			t.Errorf("%d bytes take %d", size, len(data))
		}
		got, err := c.Expand(codec, int64(size), data, nil)
		if err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("%d bytes, codec %d: %v", size, codec, err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("codecs %v were used", seen)
	}
}

func TestExpandMakesNoMoreThanWasStored(t *testing.T) {
	c := New()
	defer c.Free()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	bomb := e.EncodeAll(make([]byte, 100<<20), nil)
	for _, size := range []int64{0, 10, 1000, 1 << 20, -1, 1 << 40} {
		if _, err := c.Expand(Zstd, size, bomb, nil); !errors.Is(err, ErrContent) {
			t.Errorf("size %d: %v", size, err)
		}
	}
	if _, err := c.Expand(Zstd, 10, []byte("no zstd"), nil); !errors.Is(err, ErrContent) {
		t.Error(err)
	}
}

// What has been stored can be read with this dictionary only.
func TestTheDictionaryNeverChanges(t *testing.T) {
	if got := timeline.HashOf(dictionary).String(); got != "f370ba010269f14dc356f1d6029735fc" {
		t.Errorf("dictionary.zstd is another: %s", got)
	}
}
