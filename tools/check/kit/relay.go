package kit

import (
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/test/pgtest"
)

// Relay passes TCP connections on to the Unix socket of a database, late.
type Relay struct {
	listener net.Listener
	to       string
	delay    atomic.Int64 // nanoseconds, each way
}

// NewRelay returns a relay without a delay. It ends with the process.
func NewRelay(s *pgtest.Server) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{listener: l, to: filepath.Join(s.Socket(), ".s.PGSQL.5432")}
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

func (r *Relay) serve(client net.Conn) {
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

// relayed is bytes that are due at a time.
type relayed struct {
	due  time.Time
	data []byte
}

// pass copies bytes, each as late as the delay was when it came.
func (r *Relay) pass(to io.Writer, from io.Reader) {
	pieces := make(chan relayed, 1024)
	go func() {
		defer close(pieces)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				pieces <- relayed{time.Now().Add(time.Duration(r.delay.Load())), data[:n]}
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

// Delay sets how much later everything arrives, each way.
func (r *Relay) Delay(d time.Duration) { r.delay.Store(int64(d)) }

// Address returns the host and port of the relay.
func (r *Relay) Address() (host, port string, err error) {
	return net.SplitHostPort(r.listener.Addr().String())
}
