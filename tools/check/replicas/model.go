package replicas

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/token"
)

// checkHeader names the system, the conversation and the turn of a call to the model.
const checkHeader = "X-Check-Call"

// refuseOver is the size in bytes above which models of the kind refused refuse a body.
const refuseOver = 14000

// model is the provider of all servers. It keeps the bodies that it gets.
type model struct {
	fake fakemodel.Server
	// compared is set if bodies are kept, and models of the kind refused refuse anything.
	compared bool
	// pairs is set if a call is answered only when both replicas have sent it.
	pairs bool
	mu    sync.Mutex // protects what follows
	got   map[string][][]byte
	met   map[string]chan struct{} // closed when both calls of a pair are there
}

func newModel() *model {
	m := &model{got: map[string][][]byte{}, met: map[string]chan struct{}{}}
	m.fake.Answer = func(r *fakemodel.Request) fakemodel.Answer {
		_, conversation, turn := readCheck(r.Header)
		a := answerTo(conversation, turn)
		if conversation%kinds == counted {
			// Twice what Oriel counts: it learns the same from any three calls.
			a.Input, a.Output = token.NewCounter(token.Builtin().Lookup(r.Model),
				token.Options{}).Request(&r.Request).Local*2, 20
		}
		return a
	}
	return m
}

func readCheck(h http.Header) (system string, conversation, turn int) {
	fmt.Sscanf(h.Get(checkHeader), "%s %d %d", &system, &conversation, &turn)
	return system, conversation, turn
}

// answerTo returns the answer to a call, which depends on its number alone.
func answerTo(conversation, turn int) fakemodel.Answer {
	random := rand.New(rand.NewPCG(uint64(conversation), uint64(1000+turn)))
	a := fakemodel.Answer{Text: fmt.Sprintf("reply-%d-%d. %s", conversation, turn, words(random, 5+random.IntN(30)))}
	if random.IntN(3) > 0 {
		a.Calls = []fakemodel.Call{{ID: fmt.Sprintf("toolu_%d_%d", conversation, turn), Name: "read",
			Arguments: fmt.Sprintf(`{"path":"file%d"}`, random.IntN(9))}}
	}
	return a
}

// limited reports whether the model of a conversation refuses what is too long.
func limited(conversation int) bool { return conversation%kinds == refused }

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	key := r.Header.Get(checkHeader)
	if m.compared {
		m.mu.Lock()
		m.got[key] = append(m.got[key], data)
		m.mu.Unlock()
	}
	if _, conversation, _ := readCheck(r.Header); m.compared && limited(conversation) && len(data) > refuseOver {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"prompt is too long: %d tokens > %d maximum"}}`, len(data)/5, refuseOver/5)
		return
	}
	if m.pairs {
		m.meet(r.Header)
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	m.fake.ServeHTTP(w, r)
}

// bodies returns what the model got for a call.
func (m *model) bodies(system string, conversation, turn int) [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.got[fmt.Sprintf("%s %d %d", system, conversation, turn)]
}

// meet waits for the other call of a pair.
func (m *model) meet(h http.Header) {
	_, conversation, turn := readCheck(h)
	key := fmt.Sprint(conversation, turn)
	m.mu.Lock()
	both := m.met[key]
	if both == nil {
		both = make(chan struct{})
		m.met[key] = both
	} else {
		select {
		case <-both:
		default:
			close(both)
		}
	}
	m.mu.Unlock()
	select {
	case <-both:
	case <-time.After(meetWait):
	}
}

// meetWait is how long one call of a pair waits for the other.
const meetWait = time.Minute
