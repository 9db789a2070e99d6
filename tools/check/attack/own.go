package attack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// token makes a token for the server that is started next.
func (t *trial) token(tenant, role string) (string, error) {
	cmd := exec.Command(t.oriel, "token", "add", "--data", t.data(), "--tenant", tenant, "--role", role)
	cmd.Env = t.env()
	out, err := cmd.Output()
	if err != nil {
		return "", setup("make a token", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// tokens makes a token of each tenant that may call.
func (t *trial) tokens(tenants ...string) (map[string]string, error) {
	all := map[string]string{}
	for _, tenant := range tenants {
		token, err := t.token(tenant, "call")
		if err != nil {
			return nil, err
		}
		all[tenant] = token
	}
	return all, nil
}

// send opens a connection and sends some bytes, as far as they are taken.
func (s *server) send(t *trial, head string, body []byte) error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	t.atEnd(func() { c.Close() })
	c.(*net.TCPConn).SetReadBuffer(4 << 10)
	c.SetWriteDeadline(time.Now().Add(20 * time.Second))
	if _, err = io.WriteString(c, head); err == nil {
		c.Write(body) // the server may have refused it
	}
	return err
}

// request returns the head of a request with a token.
func request(line, token string, length int) string {
	h := line + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	if token != "" {
		h += "X-Oriel-Token: " + token + "\r\n"
	}
	if length > 0 {
		h += fmt.Sprintf("Content-Length: %d\r\n", length)
	}
	return h + "\r\n"
}

// talker makes calls of a tenant until it is stopped.
type talker struct {
	made    atomic.Int64
	slowest atomic.Int64
	stop    chan struct{}
	done    chan error
}

func (s *server) talk(token string) *talker {
	k := &talker{stop: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		for i := 0; ; i++ {
			select {
			case <-k.stop:
				k.done <- nil
				return
			case <-time.After(50 * time.Millisecond):
			}
			began := time.Now()
			a, err := s.chatCall(fmt.Sprint("question ", i), "X-Oriel-Token", token)
			if err == nil && (a.status != http.StatusOK || a.header.Get("X-Oriel-Action") != "none") {
				err = fmt.Errorf("status %d, action %q: %s", a.status, a.header.Get("X-Oriel-Action"), a.body)
			}
			if err != nil {
				k.done <- fmt.Errorf("call %d of another tenant: %w", i, err)
				return
			}
			k.made.Add(1)
			k.slowest.Store(max(k.slowest.Load(), int64(time.Since(began))))
		}
	}()
	return k
}

func (k *talker) end() error {
	close(k.stop)
	return <-k.done
}

// readers has a tenant that may only read open answers that it does not read, and send
// bodies that do not end, while another one makes calls.
func readers(t *trial) error {
	const message, most = 30 << 20, 2 << 30
	tokens, err := t.tokens("ann", "bob")
	if err != nil {
		return err
	}
	reader, err := t.token("ann", "read")
	if err != nil {
		return err
	}
	s, err := t.serve(serveOptions{upstream: t.upstream(noted()), most: most})
	if err != nil {
		return err
	}
	if a, err := s.chatCall(strings.Repeat("a long text ", message/12), "X-Oriel-Token", tokens["ann"],
		"X-Oriel-Conversation", "long"); err != nil || a.status != http.StatusOK {
		return setup("store a large message", fmt.Errorf("%v %v", a, err))
	}
	if err := s.stored("long", reader); err != nil {
		return err
	}
	before := s.memory("VmHWM")
	bob := s.talk(tokens["bob"])
	paths := []string{"export", "export", "export", "export", "calls/last/sent", "messages/1"}
	for i := range 180 {
		if err := s.send(t, request("GET /oriel/api/conversations/long/"+paths[i%len(paths)], reader, 0),
			nil); err != nil {
			return errors.Join(s.alive(), err)
		}
	}
	const body = 60 << 20
	unfinished := bytes.Repeat([]byte("x"), body)
	var sending sync.WaitGroup
	for range 30 {
		sending.Go(func() { s.send(t, request("POST /oriel/api/fit", reader, body+1), unfinished) })
	}
	sending.Wait()
	bad := errors.Join(s.alive(), bob.end())
	t.say("120 exports and 60 other answers of %d MB unread, 30 bodies of 60 MB unfinished: peak %d MB, %d before",
		message>>20, s.memory("VmHWM")>>20, before>>20)
	if bad != nil {
		return bad
	}
	if peak := s.memory("VmHWM"); peak > most {
		return fmt.Errorf("%d MB were resident", peak>>20)
	}
	if !s.stop(2 * time.Minute) {
		return errors.New("the server does not end")
	}
	t.say("another tenant's calls: %d, the slowest took %v", bob.made.Load(),
		time.Duration(bob.slowest.Load()).Round(time.Millisecond))
	return t.recorded("bob", int(bob.made.Load()))
}

// stored waits until a conversation is in the history.
func (s *server) stored(conversation, token string) error {
	for range 600 {
		r, err := http.NewRequest(http.MethodGet, s.url+"/oriel/api/conversations/"+conversation, nil)
		if err != nil {
			return err
		}
		r.Header.Set("X-Oriel-Token", token)
		res, err := clients.Do(r)
		if err != nil {
			return errors.Join(s.alive(), err)
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the conversation is not stored after a minute")
}

// recorded returns an error unless a tenant has so many calls in its history.
func (t *trial) recorded(tenant string, want int) error {
	n, err := countCalls(t.data(), tenant)
	if err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%d of %d calls of %s are recorded", n, want, tenant)
	}
	return nil
}

// keys has a tenant with very many cookies leave large answers before their end, another one
// make calls with large answers, and the server end.
func keys(t *trial) error {
	const left, large, calls = 6 << 20, 3 << 20, 12
	tokens, err := t.tokens("ann", "bob")
	if err != nil {
		return err
	}
	up := t.upstream(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			writeCompletion(w, large, "some words ")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		text, _ := json.Marshal(strings.Repeat("some words ", 1000))
		for sent := 0; sent < left; sent += len(text) {
			fmt.Fprintf(w, "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	o := serveOptions{upstream: up}
	s, err := t.serve(o)
	if err != nil {
		return err
	}
	for _, size := range []int{115_000, 115_000, 115_000, 15_000, 15_000, 15_000} {
		if err := s.leave(tokens["ann"], cookies(size), left); err != nil {
			return err
		}
	}
	for i := range calls {
		if a, err := s.chatCall(fmt.Sprint("question ", i), "X-Oriel-Token", tokens["bob"]); err != nil ||
			a.status != http.StatusOK {
			return fmt.Errorf("call %d of another tenant: %v", i, err)
		}
	}
	used, err := s.ticks()
	if err != nil {
		return err
	}
	began := time.Now()
	ended := s.stop(2 * time.Minute)
	t.say("%.1f s of processor time, the end took %v", float64(used)/100, time.Since(began).Round(100*time.Millisecond))
	if !ended {
		return errors.New("the server does not end")
	}
	if s, err = t.serve(o); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return err
	}
	if !s.stop(time.Minute) {
		return errors.New("the next server does not end")
	}
	return t.recorded("bob", calls)
}

func cookies(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "k%07x;", i*7919)
	}
	return b.String()
}

// leave reads so much of a streamed answer, and leaves.
func (s *server) leave(token, cookie string, size int64) error {
	r, err := http.NewRequest(http.MethodPost, s.url+"/v1/chat/completions",
		strings.NewReader(`{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		return err
	}
	r.Header.Set("X-Oriel-Token", token)
	r.Header.Set("Cookie", cookie)
	res, err := clients.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	_, err = io.CopyN(io.Discard, res.Body, size)
	return err
}

// strangers opens more connections than the server has files, with bodies that do not end
// and with nothing, while somebody with a token makes calls.
func strangers(t *trial) error {
	const files, each, calls = 1024, 1100, 20
	tokens, err := t.tokens("bob")
	if err != nil {
		return err
	}
	s, err := t.serve(serveOptions{upstream: t.upstream(noted()), files: files,
		env: []string{"ORIEL_TOKEN=a-token-of-the-owner-0123"}})
	if err != nil {
		return err
	}
	lines := []string{"POST /oriel/session", "POST /oriel/api/recall", "POST /oriel/mcp", "GET /oriel/healthz",
		"GET /oriel/"}
	for i := range 2 * each {
		head := ""
		if i%2 == 0 {
			head = request(lines[i/2%len(lines)], "", 1000)
		}
		if err := s.send(t, head, nil); err != nil {
			return errors.Join(s.alive(), err)
		}
	}
	bob := s.talk(tokens["bob"])
	began := time.Now()
	for bob.made.Load() < calls && len(bob.done) == 0 && time.Since(began) < time.Minute {
		time.Sleep(50 * time.Millisecond)
	}
	made := bob.made.Load()
	t.say("%d connections of strangers to a server with %d files: %d calls with a token, the slowest took %v", 2*each,
		files, made, time.Duration(bob.slowest.Load()).Round(time.Millisecond))
	if made < calls {
		return fmt.Errorf("%d of %d calls were answered within a minute", made, calls)
	}
	return bob.end()
}

// mcpSlots has two tenants hold as many connections to MCP as there are slots.
func mcpSlots(t *trial) error {
	tokens, err := t.tokens("ann", "bob", "eve")
	if err != nil {
		return err
	}
	s, err := t.serve(serveOptions{upstream: t.upstream(noted())})
	if err != nil {
		return err
	}
	for i := range 16 {
		if err := s.send(t, request("POST /oriel/mcp", tokens[[]string{"ann", "bob"}[i%2]], 1000),
			[]byte("{")); err != nil {
			return err
		}
	}
	for _, tenant := range []string{"eve", "ann"} {
		began := time.Now()
		a, err := s.post("/oriel/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "X-Oriel-Token", tokens[tenant],
			"Accept", "application/json, text/event-stream")
		if err != nil {
			return err
		}
		took := time.Since(began)
		t.say("with 16 unfinished requests %s is answered after %v (%d)", tenant, took.Round(time.Millisecond),
			a.status)
		if took > 5*time.Second {
			return fmt.Errorf("%s waited %v", tenant, took.Round(time.Second))
		}
	}
	return nil
}

// refused sends requests without a token and with many credentials, and compares their cost
// with those without.
func refused(t *trial) error {
	const requests = 200
	if _, err := t.tokens("bob"); err != nil {
		return err
	}
	s, err := t.serve(serveOptions{upstream: t.upstream(noted()),
		env: []string{"ORIEL_TOKEN=a-token-of-the-owner-0123"}})
	if err != nil {
		return err
	}
	cost := func(header ...string) (float64, error) {
		before, err := s.ticks()
		if err != nil {
			return 0, err
		}
		err = parallel(requests, func(int) error {
			a, err := s.post("/v1/%63hat", "", header...)
			if err == nil && a.status != http.StatusUnauthorized && a.status != http.StatusTooManyRequests {
				err = fmt.Errorf("status %d", a.status)
			}
			return err
		})
		after, bad := s.ticks()
		return float64(after-before) * 10 / requests, errors.Join(err, bad)
	}
	plain, err := cost()
	if err != nil {
		return err
	}
	many, err := cost("Cookie", cookies(115_000))
	if err != nil {
		return err
	}
	t.say("a refused request costs %.2f ms of processor time, one with 115 kB of cookies %.2f ms", plain, many)
	if many > 5*max(plain, 0.5) {
		return errors.New("refused requests with many credentials are expensive")
	}
	return nil
}

// holders has a tenant open more requests than the server has files, whose answers it does not
// read and whose bodies do not end, while another one makes calls.
func holders(t *trial) error {
	const files, each, calls, message = 1024, 1100, 20, 2 << 20
	tokens, err := t.tokens("ann", "bob")
	if err != nil {
		return err
	}
	reader, err := t.token("ann", "read")
	if err != nil {
		return err
	}
	s, err := t.serve(serveOptions{upstream: t.upstream(noted()), files: files,
		env: []string{"ORIEL_TOKEN=a-token-of-the-owner-0123"}})
	if err != nil {
		return err
	}
	if a, err := s.chatCall(strings.Repeat("a long text ", message/12), "X-Oriel-Token", tokens["ann"],
		"X-Oriel-Conversation", "long"); err != nil ||
		a.status != http.StatusOK {
		return setup("store a large message", fmt.Errorf("%v %v", a, err))
	}
	if err := s.stored("long", reader); err != nil {
		return err
	}
	for i := range each {
		head := request("POST /oriel/api/recall", reader, 1000)
		if i%2 == 0 {
			head = request("POST /v1/chat/completions", tokens["ann"], 1000)
		}
		if err := s.send(t, head, []byte("{")); err != nil {
			return errors.Join(s.alive(), err)
		}
	}
	lines := []string{"GET /oriel/api/conversations/long/export", "GET /oriel/api/conversations/long/messages/1",
		"GET /oriel/api/events", "GET /oriel/mcp"}
	for i := range each {
		if err := s.send(t, request(lines[i%len(lines)], reader, 0), nil); err != nil {
			return errors.Join(s.alive(), err)
		}
	}
	bob := s.talk(tokens["bob"])
	began := time.Now()
	for bob.made.Load() < calls && len(bob.done) == 0 && time.Since(began) < time.Minute {
		time.Sleep(50 * time.Millisecond)
	}
	made := bob.made.Load()
	t.say("2 x %d requests of one tenant that reads nothing and ends no body, to a server with %d files: %d calls of another, the slowest took %v", each, files, made,
		time.Duration(bob.slowest.Load()).Round(time.Millisecond))
	if made < calls {
		return errors.Join(fmt.Errorf("%d of %d calls were answered within a minute", made, calls), s.alive())
	}
	return errors.Join(bob.end(), s.alive())
}
