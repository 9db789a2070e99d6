package replicas

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/tools/check/kit"
)

// delay delays what replicas and databases send each other, by half of it each way.
func (t *trial) delay(d time.Duration) error {
	for _, r := range t.relays {
		r.Delay(d / 2)
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
			r, err := kit.NewRelay(s)
			if err != nil {
				return "", err
			}
			r.Delay(t.latency / 2)
			t.relays = append(t.relays, r)
			if host, port, err = r.Address(); err != nil {
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
