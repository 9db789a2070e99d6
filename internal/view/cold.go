package view

import (
	"bytes"
	"time"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Lifetime is how long a provider keeps the beginning of a request in its cache when
// nobody asks for it again; 0 where that is not known. Of lifetimes that a provider
// chooses from by itself it is the longest.
func Lifetime(m token.Model, b *wire.Body) time.Duration {
	ttl := m.Cache.TTL
	if len(ttl) == 0 {
		return 0
	}
	seconds := ttl[0]
	data := b.Data()
	switch {
	case m.Cache.Mode != "explicit":
		seconds = ttl[len(ttl)-1]
		if hasMember(data, "prompt_cache_retention", "24h") {
			seconds = 24 * 60 * 60
		}
	case hasMember(data, "ttl", "1h"):
		seconds = 60 * 60
	}
	return time.Duration(seconds) * time.Second
}

// says reports whether a member with this value is somewhere in a body. In texts quotes
// are escaped, so they cannot say it.
func hasMember(data []byte, name, value string) bool {
	key := []byte(`"` + name + `"`)
	for {
		i := bytes.Index(data, key)
		if i < 0 {
			return false
		}
		data = bytes.TrimLeft(data[i+len(key):], " \t\r\n:")
		if bytes.HasPrefix(data, []byte(`"`+value+`"`)) {
			return true
		}
	}
}
