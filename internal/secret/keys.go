package secret

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// NotKept stands in the place of what was taken out.
const NotKept = "not kept"

// Lengths in bytes of what is taken for a secret.
const (
	// least is the shortest secret: shorter values are words such as "ollama", which
	// would be taken out of sentences.
	least = 8
	// part is how much of a longer secret is a secret by itself.
	part = 12
)

// Keys are the credentials of a call. The zero value has none.
type Keys struct{ values []string }

// Of returns the credentials among a request's headers and in its raw query.
func Of(h http.Header, query string) Keys {
	var k Keys
	for name, values := range h {
		if !credentialHeader(name) {
			continue
		}
		for _, v := range values {
			k.add(v)
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
		k.add(value)
		if plain, err := url.QueryUnescape(value); err == nil {
			k.add(plain)
		}
	}
	return k
}

// Value returns the keys that consist of one credential.
func Value(credential string) (k Keys) {
	k.add(credential)
	return k
}

// add adds a value and its parts: the key behind "Bearer", the values of cookies, user
// and password behind "Basic".
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
	for _, p := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t,;=:\"'", r) }) {
		if len(p) >= least && len(p) < len(value) {
			k.values = append(k.values, strings.ToLower(p))
		}
	}
}

// credentialHeader reports whether a header or a parameter of a query holds a credential,
// by its name.
func credentialHeader(name string) bool {
	name = plainName(name)
	for _, word := range []string{"auth", "key", "token", "secret", "cookie", "password", "passwd", "credential", "jwt", "assertion", "signature"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "sig" || name == "code" || name == "pwd" || name == "pass"
}

// plainName is a name in lower case without what separates its words.
func plainName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' || r == '.' {
			return -1
		}
		return r
	}, name))
}

// Clean returns a text without the keys and without any [part] bytes of one.
func (k Keys) Clean(text string) string {
	if len(k.values) == 0 || text == "" {
		return text
	}
	whole, parts := map[string]bool{}, map[string]bool{}
	for _, v := range k.values {
		if len(v) < part {
			whole[v] = true
		}
		for i := 0; i+part <= len(v); i++ {
			parts[v[i:i+part]] = true
		}
	}
	hidden := make([]bool, len(text))
	found := false
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
			if parts[string(lower[i:i+part])] {
				mark(i, i+part)
			}
		}
		for v := range whole {
			for from := 0; ; {
				i := strings.Index(string(lower[from:]), v)
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
