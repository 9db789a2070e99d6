package replicas

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/test/pgtest"
)

// relay passes TCP connections on to the Unix socket of a database, late.
type relay struct {
	listener net.Listener
	to       string
	delay    atomic.Int64 // nanoseconds, each way
}

func newRelay(s *pgtest.Server) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, to: filepath.Join(s.Socket(), ".s.PGSQL.5432")}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(c)
		}
	}()
	return r, nil
}

func (r *relay) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", r.to)
	if err != nil {
		return
	}
	go func() {
		defer server.Close()
		r.pass(server, client)
	}()
	r.pass(client, server)
}

// piece is bytes that are due at a time.
type piece struct {
	due  time.Time
	data []byte
}

// pass copies bytes, each as late as the delay was when it came.
func (r *relay) pass(to io.Writer, from io.Reader) {
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				pieces <- piece{time.Now().Add(time.Duration(r.delay.Load())), data[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	failed := false
	for p := range pieces {
		if failed {
			continue // the reader must not stand still
		}
		time.Sleep(time.Until(p.due))
		_, err := to.Write(p.data)
		failed = err != nil
	}
}

// delay delays what replicas and databases send each other, by half of it each way.
func (t *trial) delay(d time.Duration) error {
	for _, r := range t.relays {
		r.delay.Store(int64(d / 2))
	}
	return nil
}

// address returns the URL by which the replicas reach the database, or the one of two that
// accepts writes.
func (t *trial) address() (string, error) {
	servers := []*pgtest.Server{t.database}
	if t.standby != nil {
		servers = append(servers, t.standby)
	}
	var hosts, ports []string
	for _, s := range servers {
		host, port := s.Socket(), "5432"
		if t.slows > 0 || t.latency > 0 {
			r, err := newRelay(s)
			if err != nil {
				return "", err
			}
			r.delay.Store(int64(t.latency / 2))
			t.relays = append(t.relays, r)
			if host, port, err = net.SplitHostPort(r.listener.Addr().String()); err != nil {
				return "", err
			}
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	q := url.Values{"host": {strings.Join(hosts, ",")}, "port": {strings.Join(ports, ",")}, "sslmode": {"disable"}}
	if len(servers) > 1 {
		q.Set("target_session_attrs", "read-write")
	}
	return fmt.Sprintf("postgres://oriel@/oriel?%s", q.Encode()), nil
}
