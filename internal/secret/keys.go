package secret

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// NotKept replaces what was removed.
const NotKept = "not kept"

// Lengths of secrets in bytes.
const (
	// least is the shortest secret: shorter values are words such as "ollama", which must
	// not be removed from sentences.
	least = 8
	// part is the length from which a part of a secret is secret by itself.
	part = 12
)

// Keys are the credentials of a call. The zero value has none.
type Keys struct {
	values []string
	// over: there are more than most bytes of credentials. No text is kept then, because
	// looking for all of them would take too long.
	over bool
}

// most is how many bytes of credentials a request may have for its texts to be kept; few is
// how many one that is refused may have.
const (
	most = 16 << 10
	few  = 1 << 10
)

// Of returns the credentials among a request's headers and in its raw query.
func Of(h http.Header, query string) Keys { return of(h, query, most) }

// OfRefused is Of for a request that is refused, on which little work is spent.
func OfRefused(h http.Header, query string) Keys { return of(h, query, few) }

func of(h http.Header, query string, most int) Keys {
	var found []string
	for name, values := range h {
		if credentialHeader(name) {
			found = append(found, values...)
		}
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if !credentialHeader(name) {
			continue
		}
		found = append(found, value)
		if plain, err := url.QueryUnescape(value); err == nil {
			found = append(found, plain)
		}
	}
	size := 0
	for _, value := range found {
		size += len(value)
	}
	if size > most {
		return Keys{over: true}
	}
	slices.Sort(found) // a map has no order
	if l := latest.Load(); l != nil && slices.Equal(l.found, found) {
		return l.keys
	}
	var k Keys
	for _, value := range found {
		k.add(value)
	}
	latest.Store(&computed{found, k})
	return k
}

// latest is what Of returned last: most calls of a client have the same credentials, and
// each asks for them more than once.
var latest atomic.Pointer[computed]

type computed struct {
	found []string
	keys  Keys
}

// Value returns keys that consist of one credential.
func Value(credential string) (k Keys) {
	k.add(credential)
	return k
}

// And returns the keys of both.
func (k Keys) And(other Keys) Keys {
	return Keys{slices.Concat(k.values, other.values), k.over || other.over}
}

// None reports whether there are no keys.
func (k Keys) None() bool { return len(k.values) == 0 && !k.over }

// add adds a value and its parts: the key after "Bearer", the values of cookies, the user
// and password of "Basic".
func (k *Keys) add(value string) {
	value = strings.TrimSpace(value)
	if len(value) >= least {
		k.values = append(k.values, lowered(value))
	}
	scheme, rest, _ := strings.Cut(value, " ")
	if strings.EqualFold(scheme, "basic") {
		if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil {
			k.add(string(plain))
		}
	}
	for _, p := range strings.FieldsFunc(value, separates) {
		if len(p) < least {
			continue
		}
		if len(p) < len(value) {
			k.values = append(k.values, lowered(p))
		}
		k.addEncoded(p)
	}
}

// addEncoded adds a value's encodings in hex and in base64 at each of the three
// alignments, without the characters that its neighbours share.
func (k *Keys) addEncoded(value string) {
	k.values = append(k.values, hex.EncodeToString([]byte(value)))
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte("xx"[:before] + value))
		text = lowered(text[(8*before+5)/6 : 8*(before+len(value))/6])
		k.values = append(k.values, text)
		if safe := urlAlphabet.Replace(text); safe != text {
			k.values = append(k.values, safe)
		}
	}
}

// urlAlphabet turns base64 into the form for URLs.
var urlAlphabet = strings.NewReplacer("+", "-", "/", "_")

// separates reports whether a character separates the parts of a value.
func separates(r rune) bool {
	switch r {
	case ' ', '\t', ',', ';', '=', ':', '"', '\'':
		return true
	}
	return false
}

// credentialHeader reports whether a header or query parameter with this name holds a
// credential.
func credentialHeader(name string) bool {
	name = plainName(name)
	for _, word := range []string{"auth", "key", "token", "secret", "cookie", "password", "passwd", "credential", "jwt",
		"assertion", "signature"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "sig" || name == "code" || name == "pwd" || name == "pass"
}

// plainName returns a name in lower case without separators.
func plainName(name string) string {
	plain := make([]byte, 0, 64)
	for i := range len(name) {
		switch c := name[i]; {
		case c >= utf8.RuneSelf:
			return strings.ToLower(separators.Replace(name))
		case 'A' <= c && c <= 'Z':
			plain = append(plain, c-'A'+'a')
		case c != '-' && c != '_' && c != ' ' && c != '.':
			plain = append(plain, c)
		}
	}
	return string(plain)
}

var separators = strings.NewReplacer("-", "", "_", "", " ", "", ".", "")

// Clean returns a text without the keys and without any [part] bytes of one.
func (k Keys) Clean(text string) string { return k.CleanUntil(context.Background(), text) }

// CleanUntil is Clean for a long text. Nothing of it is kept if the context ends meanwhile.
func (k Keys) CleanUntil(ctx context.Context, text string) string {
	if k.None() || len(text) < least {
		return text
	}
	if k.over {
		return "[" + NotKept + "]"
	}
	if len(text) <= short && !k.near(text) {
		return text
	}
	x := k.index()
	hidden := make([]bool, len(text))
	found := false
	// Work block by block, because the layers of a text take many times its size. Blocks
	// overlap, so that every key is whole in one of them, however it is escaped.
	for from := 0; ; from += block {
		if ctx.Err() != nil {
			return "[" + NotKept + "]"
		}
		to := min(from+block+overlap, len(text))
		found = k.hide(text[from:to], hidden[from:to], x) || found
		if to == len(text) {
			break
		}
	}
	if !found {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if !hidden[i] {
			b.WriteByte(text[i])
		} else if i == 0 || !hidden[i-1] {
			b.WriteString("[" + NotKept + "]")
		}
	}
	return b.String()
}

// block is the distance between the starts of blocks in bytes; overlap is how far each
// extends into the next.
const (
	block   = 1 << 20
	overlap = 128 << 10
)

// short is the length up to which a text, such as a reply's name, is checked before an
// index of the keys' parts is built.
const short = 256

// near reports whether a text may contain a key or a part of one: every [least] bytes of
// a key contain one of the pieces that it searches for.
func (k Keys) near(text string) bool {
	if strings.ContainsAny(text, `\%&`) {
		return true // it may contain an escaped key
	}
	const piece = 6
	text = lowered(text)
	for i := 0; i+piece <= len(text); i += least - piece + 1 {
		for _, v := range k.values {
			if strings.Contains(v, text[i:i+piece]) {
				return true
			}
		}
	}
	return false
}

// index finds keys in a text in a time that does not depend on their number.
type index struct {
	texts  map[string]bool // parts of part bytes, and shorter keys
	starts []uint64        // bits of the hashes of the first [least] bytes of the texts
	shift  uint            // from a hash to its bit
}

func (k Keys) index() *index {
	x := &index{texts: map[string]bool{}}
	for _, v := range k.values {
		if len(v) < part {
			x.texts[v] = true
		}
		for i := 0; i+part <= len(v); i++ {
			x.texts[v[i:i+part]] = true
		}
	}
	width := max(6, bits.Len(uint(32*len(x.texts)))) // few of the bits are set
	x.starts, x.shift = make([]uint64, 1<<(width-6)), uint(64-width)
	for text := range x.texts {
		n := x.hash([]byte(text))
		x.starts[n/64] |= 1 << (n % 64)
	}
	return x
}

func (x *index) hash(text []byte) uint64 {
	return binary.LittleEndian.Uint64(text) * 0x9e3779b97f4a7c15 >> x.shift
}

// at returns the length of the longest text at the start of some bytes; 0 if there is none.
func (x *index) at(p []byte) int {
	if n := x.hash(p); x.starts[n/64]&(1<<(n%64)) == 0 {
		return 0
	}
	for n := min(part, len(p)); n >= least; n-- {
		if x.texts[string(p[:n])] {
			return n
		}
	}
	return 0
}

// hide marks the bytes of a text to remove, and reports whether there are any.
func (k Keys) hide(text string, hidden []bool, x *index) (found bool) {
	l := plainLayer(text)
	for range layers {
		lower := lowerASCII(l.text)
		for i := 0; i+least <= len(lower); i++ {
			n := x.at(lower[i:])
			if n == 0 {
				continue
			}
			found = true
			for at := l.at[i]; at < l.at[i+n]; at++ {
				hidden[at] = true
			}
		}
		next, changed := l.decode()
		if !changed {
			break
		}
		l = next
	}
	return found
}

// lowered returns a text with ASCII letters in lower case. It is as long as the text:
// strings.ToLower makes some letters shorter.
func lowered(text string) string { return string(lowerASCII([]byte(text))) }

func lowerASCII(text []byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}
