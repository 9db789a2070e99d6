package bpe

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"testing"

	"github.com/oriel-context/oriel/internal/test/mixtext"
)

// hardTexts are texts of the given size that make simple encoders slow.
func hardTexts(size int) map[string][]byte {
	rnd := rand.New(rand.NewPCG(5, 6))
	of := func(alphabet string) []byte {
		rs := []rune(alphabet)
		var out []byte
		for len(out) < size {
			out = append(out, string(rs[rnd.IntN(len(rs))])...)
		}
		return out
	}
	raw := make([]byte, size)
	for i := range raw {
		raw[i] = byte(rnd.Uint32())
	}
	repeat := func(s string) []byte { return bytes.Repeat([]byte(s), size/len(s)) }
	return map[string][]byte{
		"one letter":      repeat("a"),
		"two letters":     repeat("ab"),
		"random letters":  of("abcdefghijklmnopqrstuvwxyz"),
		"random capitals": of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
		"spaces":          repeat(" "),
		"spaces, word":    append(repeat(" "), 'x'),
		"space and tab":   append(of(" \t"), 'x'),
		"newlines":        repeat("\n"),
		"blank lines":     append(of(" \t\r\n"), 'x'),
		"emoji":           repeat("👍"),
		"mixed emoji":     of("👍🏽😀🎉❤️🔥✨"),
		"digits":          of("0123456789"),
		"punctuation":     of("!?.,;:-=+*/()[]{}<>#@&%$"),
		"one mark":        repeat("!"),
		"combining":       repeat("\u0301"),
		"han":             of("的一是不了人我在有他这中大来上国"),
		"han, capitals":   append(of("中文A"), repeat("A")...),
		"base64":          []byte(base64.StdEncoding.EncodeToString(raw))[:size],
		"invalid":         repeat("\xff"),
		"zeros":           repeat("\x00"),
	}
}

func BenchmarkCountMixed(b *testing.B) {
	text, err := mixtext.Build(2 << 20)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range fuzzed {
		e := get(b, name)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				e.CountBytes(text)
			}
		})
		b.Run(name+"/1KiB", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				for i := 0; i < len(text); i += 1024 {
					e.CountBytes(text[i:min(i+1024, len(text))])
				}
			}
		})
	}
}

func BenchmarkAppendMixed(b *testing.B) {
	text, err := mixtext.Build(2 << 20)
	if err != nil {
		b.Fatal(err)
	}
	s := string(text)
	for _, name := range fuzzed {
		e := get(b, name)
		var ids []uint32
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				ids = e.appendIDs(ids[:0], s)
			}
		})
	}
}

func BenchmarkCountHard(b *testing.B) {
	for _, name := range []string{"cl100k_base", "o200k_base"} {
		e := get(b, name)
		for what, p := range hardTexts(1 << 20) {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.SetBytes(int64(len(p)))
				for b.Loop() {
					e.CountBytes(p)
				}
			})
		}
	}
}

// BenchmarkLoad measures what the first Get of an encoding does.
func BenchmarkLoad(b *testing.B) {
	for _, file := range []string{"cl100k.bpe", "o200k.bpe", "p50k.bpe"} {
		data, err := tables.ReadFile("tables/" + file)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(file, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parseTable(file, data, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
