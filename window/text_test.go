package window

import (
	"testing"

	"github.com/oriel-context/oriel/chat"
)

func TestPicturesInResultsAreTextsToo(t *testing.T) {
	result := chat.Part{Kind: chat.Result, Parts: []chat.Part{
		{Kind: chat.Text, Text: chat.Quote("a")},
		{Kind: chat.Image, Type: "image", Media: &chat.Media{Type: "image/png", Data: []byte("aGVsbG8gd29ybGQ=")}},
	}}
	if got, want := partText(&result), "a\n[Oriel: image, image/png, 11 bytes left out]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
