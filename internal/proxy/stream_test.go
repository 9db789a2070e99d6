package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/oriel-context/oriel/internal/proxy"
)

// The client has event k before the provider writes event k+1, whatever the form of the
// answer, and the header before the first.
func TestAnswersComePartByPart(t *testing.T) {
	for _, form := range []string{"text/event-stream", "application/json", "with a length"} {
		for name, engine := range map[string]proxy.Engine{"unrecorded": nil, "recorded": &keeper{}} {
			t.Run(form+" "+name, func(t *testing.T) {
				next := make(chan struct{})
				s := startWith(t, engine, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
					if form == "with a length" {
						w.Header().Set("Content-Length", fmt.Sprint(10*len("data: 0\n\n")))
					} else {
						w.Header().Set("Content-Type", form)
						w.WriteHeader(200)
						w.(http.Flusher).Flush()
						<-next
					}
					for i := range 10 {
						fmt.Fprintf(w, "data: %d\n\n", i)
						w.(http.Flusher).Flush()
						<-next
					}
				})
				res, err := s.client.Do(s.request("POST", "/v1/messages", `{}`))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if form != "with a length" {
					next <- struct{}{}
				}
				b := bufio.NewReader(res.Body)
				for i := range 10 {
					line, err := b.ReadString('\n')
					if err != nil || line != fmt.Sprintf("data: %d\n", i) {
						t.Fatal(line, err)
					}
					b.ReadString('\n')
					next <- struct{}{}
				}
				if _, err := b.ReadByte(); err != io.EOF {
					t.Fatal(err)
				}
			})
		}
	}
}

// A client that leaves ends the call at the provider, before the answer and in it.
func TestClientLeaves(t *testing.T) {
	for _, begun := range []bool{false, true} {
		for _, path := range []string{"/v1/messages", "/v1/models"} {
			k := &keeper{ended: make(chan *note, 1)}
			there, gone := make(chan struct{}), make(chan struct{})
			s := startWith(t, k, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if begun {
					io.WriteString(w, "data: 1\n\n")
					w.(http.Flusher).Flush()
				}
				close(there)
				<-r.Context().Done()
				close(gone)
			})
			ctx, leave := context.WithCancel(context.Background())
			result := make(chan error, 1)
			go func() {
				res, err := s.client.Do(s.request("POST", path, "{}").WithContext(ctx))
				if err == nil {
					_, err = io.ReadAll(res.Body)
					res.Body.Close()
				}
				result <- err
			}()
			<-there
			leave()
			<-gone
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if path == "/v1/messages" {
				if n := <-k.ended; !errors.Is(n.err, proxy.ErrClientLeft) {
					t.Error(n.err)
				}
			}
			s.finish()
			if c := s.server.Counters(); c.ClientLeft != 1 {
				t.Errorf("%+v", c)
			}
		}
	}
}

// An answer that the provider breaks off is seen to be broken off.
func TestProviderDiesInItsAnswer(t *testing.T) {
	for _, length := range []string{"", "100"} {
		for _, first := range []string{"", "data: 1\n\n"} {
			k := &keeper{ended: make(chan *note, 1)}
			s := startWith(t, k, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				io.WriteString(w, first)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			res, err := s.client.Do(s.request("POST", "/v1/messages", "{}"))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err == nil || string(body) != first || res.StatusCode != 200 {
				t.Errorf("%q %v: a clean end", body, err)
			}
			if n := <-k.ended; !errors.Is(n.err, proxy.ErrUpstream) || string(n.body) != first {
				t.Error(n.err, string(n.body))
			}
			s.finish()
			if c := s.server.Counters(); c.Broken != 1 {
				t.Errorf("%+v", c)
			}
		}
	}
}

// A provider may answer before it has the whole body, and both go on.
func TestProviderAnswersEarly(t *testing.T) {
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		b := make([]byte, 1)
		for {
			if _, err := io.ReadFull(r.Body, b); err != nil {
				return
			}
			w.Write(b)
			w.(http.Flusher).Flush()
		}
	})
	pr, pw := io.Pipe()
	r := s.request("POST", "/v1/files", "")
	r.Body, r.ContentLength = pr, -1
	res, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for _, c := range []byte("echo") {
		pw.Write([]byte{c})
		b := make([]byte, 1)
		if _, err := io.ReadFull(res.Body, b); err != nil || b[0] != c {
			t.Fatal(string(b), err)
		}
	}
	pw.Close()
	if _, err := res.Body.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
}

// The end of the server waits for running answers, up to a limit.
func TestShutdownFinishesStreams(t *testing.T) {
	next := make(chan struct{})
	k := &keeper{ended: make(chan *note, 1)}
	s := startWith(t, k, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			io.WriteString(w, "data\n")
			w.(http.Flusher).Flush()
			<-next
		}
	})
	res, err := s.client.Do(s.request("POST", "/v1/messages", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b := bufio.NewReader(res.Body)
	b.ReadString('\n')
	s.stop()
	// The listener is closed before anything else.
	for {
		r := s.request("GET", "/oriel/healthz", "")
		r.Close = true
		res, err := (&http.Client{Transport: &http.Transport{}}).Do(r)
		if err != nil {
			break
		}
		res.Body.Close()
	}
	for range 2 {
		next <- struct{}{}
		if line, err := b.ReadString('\n'); line != "data\n" {
			t.Fatal(line, err)
		}
	}
	close(next)
	if _, err := b.ReadByte(); err != io.EOF {
		t.Error(err)
	}
	s.finish()
	if n := <-k.ended; n.err != nil {
		t.Error(n.err)
	}
}

func TestShutdownHasALimit(t *testing.T) {
	forever := make(chan struct{})
	s := start(t, proxy.Options{ShutdownTimeout: 1}, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-forever
	})
	defer close(forever)
	res, err := s.client.Do(s.request("POST", "/v1/messages", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s.stop()
	if err := <-s.done; !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	s.done = nil
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("a clean end")
	}
}
