package pgtest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Trips records the round trips that clients of a database make: each request that a server
// answers before its client goes on, with the statements in it.
type Trips struct {
	network, address string

	mu   sync.Mutex // protects made
	made []string
}

// CountTrips returns a URL for the database of another URL by which all round trips are
// recorded.
func CountTrips(t testing.TB, base string) (string, *Trips) {
	t.Helper()
	config, err := pgx.ParseConfig(base)
	if err != nil {
		t.Fatal(err)
	}
	r := &Trips{}
	r.network, r.address = pgconn.NetworkAddress(config.Host, config.Port)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		group.Wait()
	})
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() { r.serve(c) })
		}
	})
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = l.Addr().String()
	q := u.Query()
	q.Del("host")
	q.Del("port")
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return u.String(), r
}

// Take returns the round trips since the last time, each as the first lines of its statements.
func (r *Trips) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	made := r.made
	r.made = nil
	return made
}

func (r *Trips) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial(r.network, r.address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer client.Close()
		defer server.Close()
		_, _ = io.Copy(client, server)
	}()
	r.pass(server, bufio.NewReader(client))
}

// pass passes on what a client sends, message by message.
func (r *Trips) pass(to io.Writer, from *bufio.Reader) {
	statements := map[string]string{} // by name
	var list []string
	for started := false; ; started = true {
		kind, header := byte(0), make([]byte, 4)
		if started { // only the first message has no kind
			header = make([]byte, 5)
		}
		if _, err := io.ReadFull(from, header); err != nil {
			return
		}
		if started {
			kind = header[0]
		}
		size := binary.BigEndian.Uint32(header[len(header)-4:])
		body := make([]byte, max(size, 4)-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		text := func(i int) string { // the ith text of the body
			parts := bytes.SplitN(body, []byte{0}, i+2)
			return string(parts[min(i, len(parts)-1)])
		}
		switch kind {
		case 'P': // parse
			statements[text(0)] = text(1)
			list = append(list, "prepare "+brief(text(1)))
		case 'B': // bind
			list = append(list, brief(statements[text(1)]))
		case 'Q': // query
			list = append(list, brief(text(0)))
		}
		if kind == 'S' || kind == 'Q' { // sync
			r.mu.Lock()
			r.made = append(r.made, strings.Join(list, "; "))
			r.mu.Unlock()
			list = nil
		}
		if _, err := to.Write(append(header, body...)); err != nil {
			return
		}
	}
}

// brief returns the beginning of a statement.
func brief(statement string) string {
	line := strings.Join(strings.Fields(statement), " ")
	return line[:min(len(line), 60)]
}
