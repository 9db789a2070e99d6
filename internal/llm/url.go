package llm

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/oriel-context/oriel/internal/secret"
)

// ParseURL parses a base URL. A bare host gets /v1. Its error does not repeat
// the URL, which may contain a password.
func ParseURL(base string) (*url.URL, error) {
	wrong := func(hint string) error { return &Error{Err: ErrURL, Hint: hint} }
	u, err := url.Parse(strings.TrimSpace(base))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, wrong(`give an address that begins with http:// or https://, such as http://127.0.0.1:11434/v1`)
	case u.User != nil:
		return nil, wrong("leave out user and password: the key is set apart")
	case u.Fragment != "":
		return nil, wrong(`leave out "#" and what follows`)
	}
	u.Host = strings.ToLower(u.Host)
	if u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":80")
	} else {
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path, u.RawPath = "/v1", ""
	}
	return u, nil
}

// checkKey returns an error if a key, or one in the query of the URL, cannot be sent to a
// server or must not be.
func checkKey(u *url.URL, key, name string) error {
	wrong := func(what, hint string) error {
		return &Error{Server: u.Host, Err: fmt.Errorf("%w: %s", ErrKey, what), Hint: hint}
	}
	switch {
	case key == "" && secret.Of(nil, u.RawQuery).None():
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return wrong("it has characters that no header may have", "set "+name+" to the key alone")
	case u.Scheme == "http" && !local(u.Hostname()):
		return wrong("it would be sent unencrypted over a public network", "use an https:// address, or unset "+name+
			" if the server needs no key")
	}
	return nil
}

// localNames are the suffixes of names that do not exist in public DNS: those
// of mDNS and those reserved for private networks.
var localNames = []string{".localhost", ".local", ".internal", ".home.arpa"}

// local reports whether a host is this machine or in a private network, by its
// address or by a name that exists only within one.
func local(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !strings.Contains(host, ".") { // "localhost", a container, a host of the same network
		// Other spellings of addresses ("2130706433", "0x08080808") begin with a digit.
		return host != "" && (host[0] < '0' || host[0] > '9')
	}
	for _, end := range localNames {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return false
}
