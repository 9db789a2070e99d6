package windows

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/window"
)

const (
	// wait is how long a call waits for an answer, and patience how long a server may take.
	wait, patience = 250 * time.Millisecond, 3 * time.Second
	// fresh is how long an answer holds before the server is asked again in the background,
	// silent how long a server that said nothing is left alone.
	fresh, silent = 30 * time.Second, time.Minute
	// mostKnown bounds the models that are known.
	mostKnown = 512
)

// Asker asks servers. It is safe for concurrent use.
type Asker struct {
	client http.RoundTripper
	now    func() time.Time
	ctx    context.Context
	cancel context.CancelFunc
	asking sync.WaitGroup

	mu    sync.Mutex // guards known and what is in it
	known map[string]*model
}

// model is what is known of a model of a server.
type model struct {
	told window.Told
	// loaded is the window with which the server runs the model now; 0 if it does not say.
	loaded int
	// mixed reports that requests have asked for windows of their own: the loaded one may be
	// theirs.
	mixed bool
	at    time.Time     // of the answer; zero if there was none yet
	asked chan struct{} // closed with the answer; nil unless the server is being asked
}

// New returns an Asker that sends its requests by client.
func New(client http.RoundTripper, now func() time.Time) *Asker {
	a := &Asker{client: client, now: now, known: map[string]*model{}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// Close ends the questions that are on their way.
func (a *Asker) Close() {
	a.cancel()
	a.asking.Wait()
}

// Server is a server with whose models an Asker answers; it implements call.Windows.
type Server struct {
	asker  *Asker
	root   url.URL
	ollama bool
	header http.Header
}

// Of returns the server at a base URL, or nil if it is not to be asked. ollama reports that it
// is known to be Ollama's; header is that of the call, whose key the server needs, too.
func (a *Asker) Of(base *url.URL, ollama bool, header http.Header) *Server {
	if !ollama && !isLocal(base.Hostname()) {
		return nil
	}
	s := &Server{asker: a, root: url.URL{Scheme: base.Scheme, Host: base.Host}, ollama: ollama, header: http.Header{}}
	path := strings.TrimRight(base.Path, "/")
	for _, end := range []string{"/v1", "/api"} {
		path = strings.TrimSuffix(path, end)
	}
	s.root.Path = path
	if key := header.Values("Authorization"); len(key) > 0 {
		s.header["Authorization"] = key
	}
	return s
}

// Of implements call.Windows.
func (s *Server) Of(ctx context.Context, name string, asked int) window.Told {
	if name == "" || len(name) > 256 || !s.ollama && isHosted(name) {
		return window.Told{}
	}
	a := s.asker
	a.mu.Lock()
	key := s.root.String() + "\n" + name
	m := a.known[key]
	if m == nil {
		if len(a.known) >= mostKnown {
			clear(a.known) // clients choose the names
		}
		m = &model{}
		a.known[key] = m
	}
	m.mixed = m.mixed || asked > 0
	age, answered := a.now().Sub(m.at), !m.at.IsZero()
	known := m.told != (window.Told{}) || m.loaded > 0
	due := !answered || known && (age > fresh || s.ollama && m.usual() == 0 && asked == 0) || !known && age > silent
	if due && m.asked == nil && a.ctx.Err() == nil {
		m.asked = make(chan struct{})
		a.asking.Add(1)
		go s.ask(m, name)
	}
	done := m.asked
	a.mu.Unlock()
	if done != nil && m.waits(a, asked) {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	told := m.told
	told.Usual = m.usual()
	return told
}

// waits reports whether a call needs an answer: the window is not known, and it asks for none.
func (m *model) waits(a *Asker, asked int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return m.usual() == 0 && (asked == 0 || m.told.Most == 0 && m.at.IsZero())
}

// usual returns the window of a request that asks for none; 0 if it is not known.
func (m *model) usual() int {
	if m.told.Usual > 0 || m.mixed {
		return m.told.Usual
	}
	return m.loaded
}

// ask asks the server and keeps what it says.
func (s *Server) ask(m *model, name string) {
	a := s.asker
	defer a.asking.Done()
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	told, loaded := s.answer(ctx, name)
	a.mu.Lock()
	defer a.mu.Unlock()
	if told != (window.Told{}) || loaded > 0 { // else what it said before still holds
		m.told = told
		if loaded > 0 || !m.mixed {
			m.loaded = loaded
		}
	}
	m.at = a.now()
	close(m.asked)
	m.asked = nil
}

// isHosted reports whether only its vendor runs a model: a local server with such a name is a
// gateway to it, and the table knows its window.
func isHosted(name string) bool {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	if strings.HasPrefix(name, "gpt-oss") {
		return false
	}
	for _, vendor := range []string{"gpt-", "claude", "gemini", "chatgpt", "o1", "o3", "o4-", "grok"} {
		if strings.HasPrefix(name, vendor) {
			return true
		}
	}
	return false
}
