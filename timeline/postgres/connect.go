package postgres

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oriel-context/oriel/timeline"
)

// IsURL reports whether the name of a history is the URL of a PostgreSQL database rather
// than a folder.
func IsURL(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// secrets are the parameters of a URL that nobody is shown.
var secrets = []string{"password", "sslpassword"}

// Redact returns a URL without its passwords. Of a text that is not a URL it returns the
// scheme alone.
func Redact(text string) string {
	u, err := url.Parse(text)
	if err != nil || !IsURL(text) {
		return "postgres://…"
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	q, changed := u.Query(), false
	for _, name := range secrets {
		if q.Has(name) {
			q.Set(name, "xxxxx")
			changed = true
		}
	}
	if changed {
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// maxConns is the size of the pool unless the URL has pool_max_conns.
const maxConns = 16

// connectWait limits connecting unless the URL has connect_timeout.
const connectWait = 5 * time.Second

func configure(text string, o Options) (*pgxpool.Config, error) {
	bad := func(err error) error {
		return &timeline.StoreError{Op: "open", Path: Redact(text), Err: err, Hint: hintURL}
	}
	if !IsURL(text) {
		return nil, bad(fmt.Errorf("not the URL of a PostgreSQL database"))
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, bad(fmt.Errorf("not a valid URL")) // the error would quote it
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, bad(withoutSecrets(u, err))
	}
	if !u.Query().Has("pool_max_conns") {
		config.MaxConns = maxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectWait
	}
	parameters := config.ConnConfig.RuntimeParams
	if parameters["application_name"] == "" {
		parameters["application_name"] = "oriel"
	}
	// A batch outside a transaction reads one snapshot.
	parameters["default_transaction_isolation"] = "repeatable read"
	if o.ReadOnly {
		parameters["default_transaction_read_only"] = "on"
	}
	return config, nil
}

// withoutSecrets returns the text of an error without the passwords of a URL.
func withoutSecrets(u *url.URL, err error) error {
	text := err.Error()
	hide := func(secret string) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "xxxxx")
			text = strings.ReplaceAll(text, url.QueryEscape(secret), "xxxxx")
		}
	}
	if secret, has := u.User.Password(); has {
		hide(secret)
	}
	for _, name := range secrets {
		hide(u.Query().Get(name))
	}
	return fmt.Errorf("%s", text)
}
