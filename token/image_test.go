package token

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
)

// SPEC B6: the provider's published rule where the size is known.
func TestImageRules(t *testing.T) {
	for _, c := range []struct {
		model  string
		w, h   int
		detail string
		want   int
	}{
		// OpenAI's vision guide works these three out.
		{"gpt-4o", 1024, 1024, "high", 765},
		{"gpt-4o", 2048, 4096, "high", 1105},
		{"gpt-4o", 4096, 8192, "low", 85},
		{"gpt-4o", 512, 512, "auto", 255},
		{"gpt-4o", 4000, 500, "", 765},  // 2048 by 256: four tiles
		{"gpt-4o", 1999, 1499, "", 765}, // 1024.17 by 768 is 1024 by 768
		{"gpt-4o", 1, 1, "", 255},
		{"gpt-4o-mini", 1024, 1024, "", 2833 + 4*5667},
		{"o1", 1024, 1024, "", 75 + 4*150},
		{"gpt-5", 1024, 1024, "", 70 + 4*140},
		// As are 1,024 and 1,452 patches here.
		{"gpt-4.1-mini", 1024, 1024, "", 1659}, // 1024·1.62 = 1658.88
		{"gpt-4.1-mini", 1800, 2400, "", 2353}, // 1452·1.62 = 2352.24
		{"o4-mini", 1024, 1024, "", 1762},      // 1024·1.72 = 1761.28
		// Measured with the providers' own usage (public data set
		// JOHNISKING/image-token-cost, less its prompt of 65 and 77 tokens).
		{"gpt-5.5", 256, 256, "", 77},
		{"gpt-5.5", 1920, 1080, "", 2448},
		{"gpt-5.5", 4032, 3024, "", 11868},
		{"gpt-6-astra", 4032, 3024, "", 14364},
		{"gpt-6-astra", 2560, 1440, "high", 2931},
		{"gpt-6-astra", 4032, 3024, "high", 2942},
		{"claude-haiku-4-5", 256, 256, "", 165 - 65},
		{"claude-haiku-4-5", 1280, 720, "", 1261 - 65},
		{"claude-haiku-4-5", 1024, 1024, "", 1434 - 65},
		{"claude-haiku-4-5", 1920, 1080, "", 1625 - 65},
		{"claude-opus-5-5", 1920, 1080, "", 2768 - 77},
		{"claude-opus-5-5", 1080, 1920, "", 2768 - 77},
		{"claude-opus-5-5", 2560, 1440, "", 4784},
		// Anthropic's older page: width·height/750.
		{"claude-3-5-sonnet", 200, 200, "", 54},
		{"claude-3-5-sonnet", 1000, 1000, "", 1334},
		{"claude-3-5-sonnet", 8000, 8000, "", 1600},
		{"gemini-2.5-pro", 384, 384, "", 258},
		{"gemini-2.5-pro", 960, 540, "", 2 * 258},
		{"gemini-2.5-pro", 1600, 768, "", 3 * 258},
		{"gemini-3-pro", 5000, 5000, "", 1120},
	} {
		m := Builtin().Lookup(c.model)
		var buf bytes.Buffer
		head := pngHead(c.w, c.h)
		buf.WriteString(base64.StdEncoding.EncodeToString(head))
		p := chat.Part{Kind: chat.Image, Media: &chat.Media{Data: buf.Bytes(), Detail: c.detail}}
		got := NewCounter(m, Options{}).Part(&p)
		if got.Tokens != c.want {
			t.Errorf("%s %dx%d %s: %d, want %d", c.model, c.w, c.h, c.detail, got.Tokens, c.want)
		}
	}
}

func pngHead(w, h int) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	b = binary.BigEndian.AppendUint32(b, uint32(w))
	return binary.BigEndian.AppendUint32(b, uint32(h))
}

// SPEC B6: ceil(sqrt(base64 length))·1.5, rounded up.
func TestImageOfUnknownSize(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 2, 4: 3, 5: 5, 100: 15, 101: 17, 10_000: 150, 1_000_000: 1500,
		1_000_001: 1502} {
		if got := blindImage(n); got != want {
			t.Errorf("%d characters: %d, want %d", n, got, want)
		}
	}
	c := NewCounter(Builtin().Lookup("gpt-4o"), Options{})
	got := c.Part(&chat.Part{Kind: chat.Image, Media: &chat.Media{Data: []byte(strings.Repeat("A", 10_000))}})
	if got != (Count{150, Estimate}) {
		t.Errorf("%+v", got)
	}
}

func TestImageThatCannotBeSeen(t *testing.T) {
	for model, want := range map[string]int{"gpt-4o": 1105, "claude-haiku-4-5": 1568, "claude-opus-5": 2691,
		"gemini-3-pro": 1120, "nobody-knows": 1600, "gpt-4": 1600} {
		c := NewCounter(Builtin().Lookup(model), Options{})
		for _, m := range []*chat.Media{nil, {URL: "https://example.com/a.png"}, {FileID: "file-1"}} {
			if got := c.Part(&chat.Part{Kind: chat.Image, Media: m}); got.Tokens != want {
				t.Errorf("%s %+v: %+v, want %d", model, m, got, want)
			}
		}
	}
}

// samples are heads of real files of each format, 321 wide and 123 high.
func samples(t testing.TB) map[string][]byte {
	img := image.NewPaletted(image.Rect(0, 0, 321, 123), color.Palette{color.Black, color.White})
	out := map[string][]byte{}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	out["png"] = bytes.Clone(b.Bytes())
	b.Reset()
	if err := gif.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	out["gif"] = bytes.Clone(b.Bytes())
	b.Reset()
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	out["jpeg"] = bytes.Clone(b.Bytes())
	// A profile of 60,000 bytes before the frame, as cameras write them.
	j := append([]byte("\xff\xd8\xff\xff\xe2\xea\x62"), make([]byte, 60_000)...)
	out["jpeg with profile"] = append(j, out["jpeg"][2:]...)
	webp := func(kind string, body ...byte) []byte {
		r := append([]byte("RIFF\x40\x00\x00\x00WEBP"+kind+"\x20\x00\x00\x00"), body...)
		return append(r, make([]byte, 16)...)
	}
	out["webp lossy"] = webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 0x41, 0x01, 0x7b, 0x00)
	v := uint32(320 | 122<<14)
	out["webp lossless"] = webp("VP8L", 0x2f, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	out["webp extended"] = webp("VP8X", 0, 0, 0, 0, 0x40, 0x01, 0, 0x7a, 0, 0)
	return out
}

func TestImageSizeOfEveryFormat(t *testing.T) {
	for name, data := range samples(t) {
		text := base64.StdEncoding.EncodeToString(data)
		escaped := strings.ReplaceAll(text, "/", `\/`)
		var lines strings.Builder
		for i := 0; i < len(text); i += 76 {
			lines.WriteString(text[i:min(i+76, len(text))] + `\n`)
		}
		for form, s := range map[string]string{"plain": text, "escaped": escaped, "lines": lines.String()} {
			w, h, ok := imageSize([]byte(s))
			if w != 321 || h != 123 || !ok {
				t.Errorf("%s, %s: %d %d %v", name, form, w, h, ok)
			}
		}
	}
}

func TestImageSizeRefusesWhatIsNoPicture(t *testing.T) {
	for _, s := range []string{
		"", "=", "A", "====", "hello world", "iVBORw0KGgo", "/9j/", "/9j/4AAQ", "UklGRg==",
		base64.StdEncoding.EncodeToString(pngHead(0, 5)),
		base64.StdEncoding.EncodeToString(pngHead(1<<21, 5)),
		base64.StdEncoding.EncodeToString([]byte("\xff\xd8\xff\xe0\x00\x00aaaaaaaa")),
	} {
		if w, h, ok := imageSize([]byte(s)); ok {
			t.Errorf("%q: %d by %d", s, w, h)
		}
	}
}

func TestEveryPictureCostsSomethingBounded(t *testing.T) {
	models := Builtin().All()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(models).Draw(t, "model")
		side := rapid.IntRange(1, 1<<20)
		w, h := side.Draw(t, "w"), side.Draw(t, "h")
		n := m.image.tokens(w, h, rapid.SampledFrom([]string{"", "high", "low"}).Draw(t, "detail"))
		if m.image.Kind != "" && (n < 1 || n > mostImage) {
			t.Fatalf("%s: %d by %d is %d tokens", m.ID, w, h, n)
		}
		if b := m.image.Budget; b > 0 && m.image.Kind == "patches" &&
			float64(n) > float64(b)*max(m.image.Multiplier, 1)+1 {
			t.Fatalf("%s: %d by %d is %d tokens, budget %d", m.ID, w, h, n, b)
		}
	})
}

func FuzzImageSize(f *testing.F) {
	for _, data := range samples(f) {
		text := base64.StdEncoding.EncodeToString(data[:min(len(data), 400)])
		f.Add([]byte(text))
		f.Add([]byte(text[:len(text)/2]))
		f.Add([]byte(strings.ReplaceAll(text, "A", `\/`)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, h, ok := imageSize(data)
		if ok != (w > 0 && h > 0) || w > 1<<20 || h > 1<<20 {
			t.Errorf("%d %d %v", w, h, ok)
		}
	})
}

// The longer side is brought down to the edge, whichever it is.
func TestPicturesAreBroughtWithinTheirEdge(t *testing.T) {
	for _, c := range [][5]int{{400, 100, 200, 200, 50}, {100, 400, 200, 50, 200}, {100, 400, 0, 100, 400},
		{100, 200, 200, 100, 200}, {4000, 1, 200, 200, 1}} {
		if w, h := within(c[0], c[1], c[2]); w != c[3] || h != c[4] {
			t.Errorf("%v: %d by %d", c, w, h)
		}
	}
}

// A mistake in a table names its file, model and field.
func TestAModelErrorNamesItsPlace(t *testing.T) {
	e := &ModelError{File: "m.json", Model: "gpt", Field: "window", Err: errors.New("too small")}
	for _, want := range []string{"m.json", `model "gpt"`, `field "window"`, "too small"} {
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%s does not have %s", e, want)
		}
	}
}
