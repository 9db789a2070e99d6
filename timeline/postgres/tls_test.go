package postgres_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

// With verify-full a server is used only if the authority that the URL names has signed its
// certificate, and for that host. Whoever gets this wrong is told so.
func TestOnlyACertifiedServerIsTrusted(t *testing.T) {
	url, roots, others := pgtest.StartTLS(t)
	trusting := pgtest.With(pgtest.With(url, "sslmode", "verify-full"), "sslrootcert", roots)
	s := open(t, trusting)
	add(t, s, timeline.Local, "c", "1")
	if p, err := s.Probe(ctx); err != nil || !p.Encrypted {
		t.Errorf("%+v, %v", p, err)
	}
	for _, tc := range []struct{ name, url, want string }{
		{"another authority", pgtest.With(trusting, "sslrootcert", others), "unknown authority"},
		{"the authorities of the system", pgtest.With(url, "sslmode", "verify-full"), "unknown authority"},
		{"another name", strings.Replace(trusting, "127.0.0.1", "localhost", 1), "localhost"},
	} {
		_, err := postgres.Open(ctx, tc.url, postgres.Options{})
		var of *timeline.StoreError
		if !errors.As(err, &of) || !errors.Is(err, postgres.ErrUntrusted) || !strings.Contains(err.Error(), tc.want) ||
			!strings.Contains(of.Hint, "sslrootcert") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	_, err := postgres.Open(ctx, pgtest.With(trusting, "sslrootcert", others+".none"), postgres.Options{})
	if err == nil || !strings.Contains(err.Error(), ".none") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A server without TLS is refused where TLS is asked for.
func TestAServerWithoutTLSIsNotUsedWithIt(t *testing.T) {
	refuses := refusesTLS(t)
	_, err := postgres.Open(ctx, "postgres://oriel@"+refuses+"/oriel?sslmode=require", postgres.Options{})
	var of *timeline.StoreError
	if !errors.As(err, &of) || !errors.Is(err, postgres.ErrUntrusted) || !strings.Contains(of.Hint, "sslmode") {
		t.Error(err)
	}
}

// refusesTLS returns the address of a server that answers each request for TLS with no, as
// PostgreSQL does without a certificate.
func refusesTLS(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			var request [8]byte
			_, _ = io.ReadFull(c, request[:])
			_, _ = c.Write([]byte("N"))
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}
