/*
Package pgtest gives tests a real PostgreSQL.

URL uses the server that $ORIEL_TEST_POSTGRES names, or else starts one from the programs
that it finds in PATH or /usr/lib/postgresql: one for the whole test binary, in a temporary
folder, on a Unix socket, as another user if the tests run as root. The server ends with
the test binary, however that ends. Without either, the test is skipped with a line that
begins with "!! SKIPPED".
*/
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Variable names the server that tests use: the URL of a database in which they may create
// schemas.
const Variable = "ORIEL_TEST_POSTGRES"

// Cluster names a folder for the files of an empty server, which the servers that tests
// start begin with. It saves each of them the time of initdb.
const Cluster = "ORIEL_TEST_CLUSTER"

// common is the server of the test binary.
var common = struct {
	sync.Mutex // protects all below
	server     *Server
	err        error
	tried      bool
}{}

// schemas counts the schemas of this process.
var schemas atomic.Int64

// URL returns the URL of a new empty schema, which the test drops at its end. The user of
// the URL is no superuser if the server was started here.
func URL(t testing.TB) string {
	t.Helper()
	base := os.Getenv(Variable)
	if base == "" {
		base = started(t).URL()
	}
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), schemas.Add(1))
	execute(t, base, "CREATE SCHEMA "+name)
	t.Cleanup(func() { execute(t, base, "DROP SCHEMA "+name+" CASCADE") })
	return Patient(With(base, "search_path", name))
}

// Patient returns a URL whose connections may take a minute to make, as on a busy machine.
func Patient(base string) string { return With(base, "connect_timeout", "60") }

// With returns a URL with a further parameter.
func With(base, name, value string) string {
	u, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// In returns a URL with another database.
func In(base, database string) string {
	u, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	u.Path = "/" + database
	return u.String()
}

// started returns the common server.
func started(t testing.TB) *Server {
	t.Helper()
	common.Lock()
	defer common.Unlock()
	if !common.tried {
		common.tried = true
		if common.server, common.err = New(); common.err != nil {
			fmt.Fprintf(os.Stderr, "!! SKIPPED: tests on PostgreSQL: %v; set $%s or install postgresql\n", common.err,
				Variable)
		}
	}
	if common.err != nil {
		t.Skip(common.err)
	}
	return common.server
}

// Start returns a server for one test alone, which may kill it.
func Start(t testing.TB) *Server {
	t.Helper()
	if _, err := programs(); err != nil {
		t.Skip("!! SKIPPED: ", err)
	}
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// StartWith returns a server for one test alone whose database has an extension. Where the
// server that is found has no such extension, the test is skipped.
func StartWith(t testing.TB, extension string) *Server {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Skip("!! SKIPPED: ", err)
	}
	home := filepath.Dir(bin) // with the files of extensions, or /usr/lib/postgresql/15
	var found []string
	for _, pattern := range []string{filepath.Join(home, "share", "*", "extension"),
		filepath.Join(home, "share", "extension"), filepath.Join("/usr/share/postgresql", filepath.Base(home),
			"extension")} {
		some, _ := filepath.Glob(filepath.Join(pattern, extension+".control"))
		found = append(found, some...)
	}
	if len(found) == 0 {
		fmt.Fprintf(os.Stderr, "!! SKIPPED: %s: PostgreSQL in %s has no extension %s\n", t.Name(), bin, extension)
		t.Skipf("no extension %s", extension)
	}
	s := Start(t)
	execute(t, In(s.Admin(), "oriel"), "CREATE EXTENSION "+extension)
	return s
}

// Stop stops the common server, for tests that look for what is left of them.
func Stop() {
	common.Lock()
	defer common.Unlock()
	if common.server != nil {
		common.server.Stop()
	}
}

func execute(t testing.TB, url string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, s := range statements {
		_, err := c.Exec(context.Background(), s)
		for range 10 { // sessions of killed processes may still end
			if err == nil {
				break
			}
			_, err = c.Exec(context.Background(), s)
		}
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// programs returns the folder of initdb and postgres.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target // some programs may have no link beside it
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "postgres")); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("no PostgreSQL server was found")
	}
	slices.SortFunc(found, func(a, b string) int { return strings.Compare(filepath.Dir(a), filepath.Dir(b)) })
	return filepath.Dir(found[len(found)-1]), nil
}
