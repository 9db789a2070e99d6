package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
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
type Keys struct{ values []string }

// Of returns the credentials among a request's headers and in its raw query.
func Of(h http.Header, query string) Keys {
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
func (k Keys) And(other Keys) Keys { return Keys{slices.Concat(k.values, other.values)} }

// None reports whether there are no keys.
func (k Keys) None() bool { return len(k.values) == 0 }

// add adds a value and its parts: the key after "Bearer", the values of cookies, the user
// and password of "Basic".
func (k *Keys) add(value string) {
	value = strings.TrimSpace(value)
	if len(value) >= least {
		k.values = append(k.values, strings.ToLower(value))
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
			k.values = append(k.values, strings.ToLower(p))
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
		text = strings.ToLower(text[(8*before+5)/6 : 8*(before+len(value))/6])
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
	for _, word := range []string{"auth", "key", "token", "secret", "cookie", "password", "passwd", "credential", "jwt", "assertion", "signature"} {
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
func (k Keys) Clean(text string) string {
	if len(k.values) == 0 || len(text) < least {
		return text
	}
	if len(text) <= short && !k.near(text) {
		return text
	}
	has := k.finder()
	hidden := make([]bool, len(text))
	found := false
	// Work block by block, because the layers of a text take many times its size. Blocks
	// overlap, so that every key is whole in one of them, however it is escaped.
	for from := 0; ; from += block {
		to := min(from+block+overlap, len(text))
		found = k.hide(text[from:to], hidden[from:to], has) || found
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
	text = string(lowerASCII([]byte(text)))
	for i := 0; i+piece <= len(text); i += least - piece + 1 {
		for _, v := range k.values {
			if strings.Contains(v, text[i:i+piece]) {
				return true
			}
		}
	}
	return false
}

// finder returns a function that reports whether some bytes are a part of a key.
func (k Keys) finder() func([]byte) bool {
	parts := map[string]bool{}
	for _, v := range k.values {
		for i := 0; i+part <= len(v); i++ {
			parts[v[i:i+part]] = true
		}
	}
	return func(p []byte) bool { return parts[string(p)] }
}

// hide marks the bytes of a text to remove, and reports whether there are any.
func (k Keys) hide(text string, hidden []bool, has func([]byte) bool) (found bool) {
	l := plainLayer(text)
	for range layers {
		lower := lowerASCII(l.text)
		mark := func(from, to int) {
			found = true
			for i := l.at[from]; i < l.at[to]; i++ {
				hidden[i] = true
			}
		}
		for i := 0; i+part <= len(lower); i++ {
			if has(lower[i : i+part]) {
				mark(i, i+part)
			}
		}
		for _, v := range k.values {
			if len(v) >= part {
				continue
			}
			for from := 0; ; {
				i := bytes.Index(lower[from:], []byte(v))
				if i < 0 {
					break
				}
				mark(from+i, from+i+len(v))
				from += i + len(v)
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
