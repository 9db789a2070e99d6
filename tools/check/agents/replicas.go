package agents

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/tools/check/kit"
)

// replicasLimit is the limit of the model behind replicas, in tokens.
const replicasLimit = 80_000

// behindBalancer returns the runs of agents before replicas on one database.
func behindBalancer(agents []string, replicas int) ([]run, error) {
	var runs []run
	for _, a := range agents {
		if modelNames[a] == nil {
			return nil, fmt.Errorf("agent %q: claude and codex are known", a)
		}
		runs = append(runs, run{a, replicasLimit, "full", "known", replicas})
	}
	return runs, nil
}

// served is what runs before the model.
type served struct {
	handler http.Handler
	// stop ends the servers and returns their logs.
	stop func() ([]byte, error)
	// store names the history for commands.
	store []string
	// events are the files of events.
	events []string
	// end ends what commands need, after stop.
	end func()
}

// serveReplicas starts servers on one database behind a balancer that sends each request to
// the next one.
func (r *run) serveReplicas(oriel, upstream, dir string) (s *served, err error) {
	database, err := pgtest.New("max_wal_size=256MB")
	if err != nil {
		return nil, err
	}
	s = &served{store: []string{"--store", database.URL()}, end: database.Stop}
	var servers []*kit.Server
	var log lockedBuffer
	s.stop = func() ([]byte, error) {
		var errs []error
		for _, one := range servers {
			errs = append(errs, one.Stop())
		}
		return log.bytes(), errors.Join(errs...)
	}
	var bases []*url.URL
	for i := range r.replicas {
		data := filepath.Join(dir, fmt.Sprint("replica", i+1))
		if err = os.MkdirAll(data, 0o700); err != nil {
			break
		}
		s.events = append(s.events, filepath.Join(data, "events"))
		var one *kit.Server
		one, err = kit.StartServer(oriel, "127.0.0.1:0", &log, "--profile", r.profile, "--data", data, "--spool",
			filepath.Join(data, "spool"),
			"--store", database.URL(), "--events", s.events[i], "--upstream-openai", upstream+"/v1",
			"--upstream-anthropic", upstream)
		if err != nil {
			break
		}
		servers = append(servers, one)
		base, err := url.Parse(one.Base)
		if err != nil {
			break
		}
		bases = append(bases, base)
	}
	if err != nil {
		text, bad := s.stop()
		s.end()
		return nil, errors.Join(err, bad, errors.New(string(text)))
	}
	var calls atomic.Uint64
	s.handler = &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(bases[calls.Add(1)%uint64(len(bases))])
	}}
	return s, nil
}

// lockedBuffer collects the logs of several servers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}
