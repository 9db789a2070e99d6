//go:build unix

package pgtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/freeport"
)

// StartTLS returns the URL of a server for one test alone that is reached by TCP at
// 127.0.0.1, with a certificate for that address which an authority of its own has signed.
// roots is the file of that authority, others that of another one. The URL has no sslmode.
func StartTLS(t testing.TB) (url, roots, others string) {
	t.Helper()
	if _, err := programs(); err != nil {
		t.Skip("!! SKIPPED: ", err)
	}
	port, err := freeport.Find()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New("listen_addresses=127.0.0.1", fmt.Sprint("port=", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	dir := t.TempDir()
	roots, others = filepath.Join(dir, "roots.pem"), filepath.Join(dir, "others.pem")
	certificate, key, err := certify(roots)
	if err == nil {
		_, _, err = certify(others)
	}
	if err == nil {
		err = errors.Join(s.writeOwn("server.crt", certificate), s.writeOwn("server.key", key),
			s.Execute("ALTER SYSTEM SET ssl = on"))
	}
	if err == nil {
		s.Halt() // so that ssl is on when the server answers again
		err = s.Start()
	}
	if err != nil && strings.Contains(err.Error(), "SSL is not supported by this build") {
		t.Skip("!! SKIPPED: ", err) // such as that of the PyPI package
	}
	if err != nil {
		t.Fatal(err)
	}
	return Patient(fmt.Sprintf("postgres://oriel@127.0.0.1:%d/oriel", port)), roots, others
}

// writeOwn writes a file that the server's user alone can read, beside the server's data.
func (s *Server) writeOwn(name string, data []byte) error {
	path := filepath.Join(s.data(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil || s.user == nil {
		return err
	}
	return os.Chown(path, int(s.user.Uid), int(s.user.Gid))
}

// certify writes the certificate of a new authority to a file, and returns a certificate of
// it for 127.0.0.1 with its key.
func certify(authority string) (certificate, key []byte, err error) {
	issuerKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	ownKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	issuer := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	own := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "database of a test"},
		NotBefore: from, NotAfter: to,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature}
	issued, err := x509.CreateCertificate(rand.Reader, issuer, issuer, &issuerKey.PublicKey, issuerKey)
	if err != nil {
		return nil, nil, err
	}
	if certificate, err = x509.CreateCertificate(rand.Reader, own, issuer, &ownKey.PublicKey, issuerKey); err != nil {
		return nil, nil, err
	}
	if key, err = x509.MarshalPKCS8PrivateKey(ownKey); err != nil {
		return nil, nil, err
	}
	encode := func(kind string, data []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}) }
	return encode("CERTIFICATE", certificate), encode("PRIVATE KEY", key), os.WriteFile(authority,
		encode("CERTIFICATE", issued), 0o600)
}
