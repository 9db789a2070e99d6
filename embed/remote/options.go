package remote

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"
)

// Defaults of Options.
const (
	// DefaultKeyEnv is the environment variable that holds the key.
	DefaultKeyEnv = "ORIEL_EMBED_KEY"
	// DefaultBatch is how many texts a request has at most.
	DefaultBatch = 64
	// DefaultBatchBytes is how many bytes of text a request has at most. No token is
	// shorter than a byte, so this stays below the 300,000 tokens that OpenAI allows.
	DefaultBatchBytes = 256 << 10
	// DefaultTimeout is how long a single try may take.
	DefaultTimeout = 30 * time.Second
	// DefaultRetries is how often a request is tried again.
	DefaultRetries = 3

	// maxBatch is the most texts that OpenAI takes.
	maxBatch = 2048
)

// Options say which server to ask, for what, and how patiently. BaseURL and Model
// must be set.
type Options struct {
	// BaseURL is the address before "/embeddings": "https://api.openai.com/v1",
	// "http://127.0.0.1:11434/v1". It has no user, query or fragment.
	BaseURL string
	// Model is the server's name of the model.
	Model string
	// Server replaces host and path of BaseURL in the model's Name. Set it if one
	// server has several addresses, or has moved; vectors that were kept stay usable.
	Server string
	// KeyEnv is the environment variable that holds the key; empty means
	// DefaultKeyEnv. If the variable is empty, no Authorization header is sent.
	KeyEnv string
	// Dimensions is the length of the vectors: asked for and checked. 0 means the
	// model's own; not all models can give another.
	Dimensions int
	// Batch is how many texts a request has at most, up to 2048; 0 means
	// DefaultBatch. Some servers take fewer.
	Batch int
	// BatchBytes is how many bytes of text a request has at most; 0 means
	// DefaultBatchBytes. A single text that is larger is sent alone.
	BatchBytes int
	// Timeout is how long a single try may take; 0 means DefaultTimeout. The context
	// of Embed bounds all of them.
	Timeout time.Duration
	// Retries is how often a request is tried again; 0 means DefaultRetries, below 0
	// never.
	Retries int
	// Client sends the requests; nil means one with the default transport. It is
	// copied, and the copy follows no redirects.
	Client *http.Client
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	if o.KeyEnv == "" {
		o.KeyEnv = DefaultKeyEnv
	}
	if o.Batch == 0 {
		o.Batch = DefaultBatch
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = DefaultBatchBytes
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Retries == 0 {
		o.Retries = DefaultRetries
	}
	return o
}

// New checks the options. It sends nothing. Its error is an *Error with ErrConfig,
// or with ErrKey if the key that the environment has now cannot be sent.
func New(o Options) (*Model, error) {
	o = o.withDefaults()
	u, hint := address(o.BaseURL)
	if hint != "" {
		// The address itself may hold a password, so it is not repeated.
		return nil, &Error{Err: fmt.Errorf("%w: BaseURL", ErrConfig), Hint: hint}
	}
	for _, wrong := range []struct {
		is         bool
		name, hint string
	}{
		{strings.TrimSpace(o.Model) == "", "Model is empty", "name a model that the server has, such as text-embedding-3-small"},
		{strings.ContainsAny(o.Server, "@# \t\r\n"), "Server", `give it a plain name, without "@", "#" and spaces`},
		{o.Dimensions < 0, "Dimensions", "give a number above 0, or 0 for the model's own"},
		{o.Batch < 0 || o.Batch > maxBatch, "Batch", "give a number from 1 to 2048, or 0 for the default"},
		{o.BatchBytes < 0, "BatchBytes", "give a number above 0, or 0 for the default"},
		{o.Timeout < 0, "Timeout", "give a time above 0, or 0 for the default"},
	} {
		if wrong.is {
			return nil, &Error{Server: u.Host, Err: fmt.Errorf("%w: %s", ErrConfig, wrong.name), Hint: wrong.hint}
		}
	}
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	// Texts and key go where they were meant to go. (Go itself would send the key on
	// to another port and to plain http of the same host.)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	m := &Model{opts: o, url: *u.JoinPath("embeddings"), client: &client, name: nameOf(o, u)}
	if _, err := m.key(); err != nil {
		return nil, err
	}
	return m, nil
}

// address reads a base URL. The hint says what is wrong with it.
func address(base string) (u *url.URL, hint string) {
	u, err := url.Parse(strings.TrimSpace(base))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, `give an address that begins with http:// or https://, such as "http://127.0.0.1:11434/v1"`
	case u.User != nil:
		return nil, "leave user and password out of it: the key is read from the environment"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, `leave out what follows "?" or "#"`
	}
	u.Host = strings.ToLower(u.Host)
	switch {
	case u.Scheme == "http":
		u.Host = strings.TrimSuffix(u.Host, ":80")
	default:
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	return u, ""
}

// nameOf makes the model's Name. The last "@" parts model and server, since a
// server's name has none; so no two different choices
// share a name. Whether a server is asked by http or https is no choice of model.
func nameOf(o Options, u *url.URL) string {
	server := o.Server
	if server == "" {
		server = u.Host + strings.TrimRight(u.EscapedPath(), "/")
		server = strings.ReplaceAll(server, "@", "%40")
	}
	name := "remote/" + o.Model + "@" + server
	if o.Dimensions > 0 {
		name += fmt.Sprintf("#%d", o.Dimensions)
	}
	return name
}

var (
	errPlain     = errors.New("it would be sent unencrypted over a public network")
	errCharacter = errors.New("it has characters that no header may have")
)

// key reads the key from the environment; it is empty if there is none.
func (m *Model) key() (string, error) {
	key := strings.TrimSpace(os.Getenv(m.opts.KeyEnv))
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", m.fail(fmt.Errorf("%w of $%s: %w", ErrKey, m.opts.KeyEnv, errCharacter), "set the variable to the key alone")
	}
	if key != "" && m.url.Scheme == "http" && !private(m.url.Hostname()) {
		return "", m.fail(fmt.Errorf("%w of $%s: %w", ErrKey, m.opts.KeyEnv, errPlain),
			"use an https:// address, or name another variable in KeyEnv if the server needs no key")
	}
	return key, nil
}

// localNames end names that public DNS does not have: mDNS, and those that are
// reserved for private networks.
var localNames = []string{".localhost", ".local", ".internal", ".home.arpa"}

// private tells whether a host is this machine or lies in a private network, by its
// address, or by a name that has no meaning outside of one.
func private(host string) bool {
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
