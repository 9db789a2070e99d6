package token

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
)

// imageSize reads width and height from the beginning of a picture's base64
// text. It decodes only the bytes that it needs, and does bounded work
// whatever the data claims. ok is false for corrupt, truncated or unknown
// data.
func imageSize(data []byte) (w, h int, ok bool) {
	if n := min(len(data), escapedPrefix); bytes.IndexByte(data[:n], '\\') >= 0 ||
		bytes.IndexByte(data[:n], '\n') >= 0 {
		data = unescape(data[:n])
	}
	r := b64(data)
	var head [32]byte
	n := r.at(head[:], 0)
	switch b := head[:n]; {
	case n >= 24 && string(b[:8]) == "\x89PNG\r\n\x1a\n" && string(b[12:16]) == "IHDR":
		return size(binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:]))
	case n >= 10 && (string(b[:6]) == "GIF87a" || string(b[:6]) == "GIF89a"):
		return size(uint32(binary.LittleEndian.Uint16(b[6:])), uint32(binary.LittleEndian.Uint16(b[8:])))
	case n >= 30 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return webpSize(b)
	case n >= 4 && b[0] == 0xff && b[1] == 0xd8:
		return jpegSize(r)
	}
	return 0, 0, false
}

// size rejects sizes that no picture has.
func size(w, h uint32) (int, int, bool) {
	const most = 1 << 20
	if w == 0 || h == 0 || w > most || h > most {
		return 0, 0, false
	}
	return int(w), int(h), true
}

func webpSize(b []byte) (int, int, bool) {
	switch string(b[12:16]) {
	case "VP8 ": // lossy: start code, then 14 bits each
		if b[23] != 0x9d || b[24] != 0x01 || b[25] != 0x2a {
			return 0, 0, false
		}
		return size(uint32(binary.LittleEndian.Uint16(b[26:])&0x3fff),
			uint32(binary.LittleEndian.Uint16(b[28:])&0x3fff))
	case "VP8L": // lossless: signature, then 14 bits each, less one
		if b[20] != 0x2f {
			return 0, 0, false
		}
		v := binary.LittleEndian.Uint32(b[21:])
		return size(v&0x3fff+1, v>>14&0x3fff+1)
	case "VP8X": // extended: 24 bits each, less one
		u24 := func(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
		return size(u24(b[24:])+1, u24(b[27:])+1)
	}
	return 0, 0, false
}

// jpegSegments is the most segments to skip before the frame header; files
// with a large colour profile have a few dozen.
const jpegSegments = 256

// jpegSize skips from segment to segment to the frame header, without decoding
// what lies between.
func jpegSize(r b64) (int, int, bool) {
	off := 2
	var b [9]byte
	for range jpegSegments {
		n := r.at(b[:], off)
		if n < 4 || b[0] != 0xff {
			return 0, 0, false
		}
		marker := b[1]
		switch {
		case marker == 0xff: // fill byte
			off++
			continue
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd8: // no length
			off += 2
			continue
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			if n < 9 {
				return 0, 0, false
			}
			return size(uint32(binary.BigEndian.Uint16(b[7:])), uint32(binary.BigEndian.Uint16(b[5:])))
		case marker == 0xd9 || marker == 0xda: // end, or pixels before any frame
			return 0, 0, false
		}
		length := int(binary.BigEndian.Uint16(b[2:]))
		if length < 2 {
			return 0, 0, false
		}
		off += 2 + length
	}
	return 0, 0, false
}

// b64 is base64 text that is read at byte offsets of what it holds.
type b64 []byte

// at decodes up to len(dst) bytes from offset off and returns how many there
// were.
func (s b64) at(dst []byte, off int) int {
	group := off / 3 * 4
	if off < 0 || group >= len(s) {
		return 0
	}
	skip := off % 3
	need := (skip + len(dst) + 2) / 3 * 4
	in := s[group:min(group+need, len(s))]
	in = bytes.TrimRight(in, "=")
	var buf [64]byte
	for {
		if len(in)%4 == 1 { // a single character encodes no byte
			in = in[:len(in)-1]
		}
		n, err := base64.RawStdEncoding.Decode(buf[:], in)
		if err != nil {
			// A stray character ends the readable part.
			at, ok := err.(base64.CorruptInputError)
			if !ok || int(at) >= len(in) || at <= 0 {
				return 0
			}
			in = in[:at]
			continue
		}
		if n <= skip {
			return 0
		}
		return copy(dst, buf[skip:n])
	}
}

// escapedPrefix is how much base64 text with JSON escapes or line breaks is
// cleaned. Offsets cannot be computed in such text, so the beginning must do.
const escapedPrefix = 128 << 10

// unescape removes characters that are not base64: white space, and the
// backslashes that some clients write before slashes.
func unescape(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		switch b := data[i]; b {
		case '\n', '\r', '\t', ' ':
		case '\\':
			if i+1 < len(data) && (data[i+1] == 'n' || data[i+1] == 'r') {
				i++
			}
		default:
			out = append(out, b)
		}
	}
	return out
}
