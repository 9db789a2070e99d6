package view

import (
	"bytes"
	"time"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Lifetime returns how long the provider keeps an unused prefix in its cache; 0 if that is
// unknown. If the provider chooses among several lifetimes, Lifetime returns the longest. If a
// longer one has its own price, the client chooses.
func Lifetime(m token.Model, b *wire.Body) time.Duration {
	ttl := m.Cache.TTL
	if len(ttl) == 0 {
		return 0
	}
	seconds := ttl[0]
	data := b.Data()
	switch {
	case m.Cache.Mode != "explicit" && m.Prices.CacheWrite1h > 0:
		if hasMember(data, "ttl", "12h") {
			seconds = ttl[len(ttl)-1]
		}
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

// hasMember reports whether a body contains a member with this name and value, at any
// depth. Text in strings cannot match, because its quotes are escaped.
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
