package figures

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/wire"
)

// model is the provider. Clients show it each body as they send it, at /came.
type model struct {
	mu    sync.Mutex // protects what follows
	came  *wire.Body
	calls []call
	first int // of calls that the running server had
	sent  account
	alone account // had the clients sent everything
}

// call is what the model knows about a call.
type call struct {
	session, model     string
	failed, unreported bool
	used, alone        kit.Used
	cut                bool
}

var session = regexp.MustCompile(`Session (\w+)\.`)

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	done := sync.OnceFunc(m.mu.Unlock)
	defer done()
	if path, ok := strings.CutPrefix(r.URL.Path, "/came"); ok {
		data, _ := io.ReadAll(r.Body)
		m.came, _ = wire.Read(data, wire.CallFormat(path), wire.Limits{})
		return
	}
	(&fakemodel.Server{Answer: m.answer}).ServeHTTP(w, r)
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		done()
		<-r.Context().Done() // the stream stays open after [DONE], and its client leaves
	}
}

// answer asks for the next result, or answers a question.
func (m *model) answer(r *fakemodel.Request) fakemodel.Answer {
	data := r.Data()
	c := call{session: string(session.FindSubmatch(data)[1]), model: r.Body.Model, unreported: r.Stream}
	c.used, c.alone = m.sent.call(c.session, r.Body), m.alone.call(c.session, m.came)
	c.cut = len(r.Messages) < len(m.came.Messages) || len(data) < len(m.came.Data())
	c.failed = c.session == "failing"
	m.calls = append(m.calls, c)
	if c.failed {
		return fakemodel.Answer{Status: http.StatusInternalServerError, Error: "out of order"}
	}
	a := fakemodel.Answer{ID: "reply_" + itoa(len(m.calls)), Input: c.used.Fresh, CacheRead: c.used.Read,
		CacheWrite: c.used.Write, Output: output}
	if last := r.Messages[len(r.Messages)-1].Raw; bytes.Contains(last, []byte("?")) {
		a.Text = "It is as you have read, and nothing else is known of it."
	} else {
		a.Calls = []fakemodel.Call{{ID: "call_" + c.session + "_" + itoa(len(m.calls)), Name: "read",
			Arguments: `{"path":"services"}`}}
	}
	return a
}

// output is what each reply has, in tokens.
const output = 50

func (m *model) fresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.first = len(m.calls)
}

// count counts the calls of a session that are of some kind.
func (m *model) count(session string, of func(*call) bool) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.calls {
		if m.calls[i].session == session && of(&m.calls[i]) {
			n++
		}
	}
	return n
}

// account is the cache of a provider: the last prompt of each session, in parts.
type account struct{ last map[string][]string }

// call returns what a prompt uses, and remembers it.
func (a *account) call(session string, b *wire.Body) kit.Used {
	top := ""
	for i := range b.Tools {
		top += string(b.Tools[i].Raw)
	}
	for i := range b.System {
		top += b.System[i].Text.String()
	}
	parts, sizes := []string{top}, []int{tokens(top)}
	for i := range b.Messages {
		parts = append(parts, string(b.Messages[i].Raw))
		sizes = append(sizes, counter.Message(&b.Messages[i]).Tokens+4)
	}
	last, same := a.last[session], true
	u := kit.Used{Output: output}
	for i, p := range parts {
		n := sizes[i]
		if same = same && i < len(last) && last[i] == p; same {
			u.Read += n
		} else {
			u.Fresh += n
		}
	}
	if u.Read < 1024 {
		u.Read, u.Fresh = 0, u.Prompt()
	}
	if b.Format == wire.Anthropic {
		u.Write, u.Fresh = u.Fresh, 0
	}
	if a.last == nil {
		a.last = map[string][]string{}
	}
	a.last[session] = parts
	return u
}

var counter = token.NewCounter(token.Builtin().Lookup("gpt-4o"), token.Options{})

func tokens(text string) int { return counter.Text(text).Tokens }
