package agents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// tee records the hash of every body that passes.
type tee struct {
	mu     sync.Mutex
	bodies [][32]byte
	bytes  int64
	next   http.Handler
}

func (t *tee) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.Method == http.MethodPost {
		t.mu.Lock()
		t.bodies = append(t.bodies, sha256.Sum256(body))
		t.bytes += int64(len(body))
		t.mu.Unlock()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t.next.ServeHTTP(w, r)
}

// checkRecord runs an agent through a proxy that only records.
func checkRecord(name, install string, calls int) (problems []string, err error) {
	dir, err := os.MkdirTemp("", "check-agents")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "data"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	s := &script{n: calls, command: func(k int) string {
		return fmt.Sprintf("echo part %d; seq -f 'line %%g of part %d' 1 60", k, k)
	}}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		return nil, err
	}
	model := &fakemodel.Server{Answer: s.answer}
	arrived := &tee{next: model}
	provider := httptest.NewServer(arrived)
	defer provider.Close()
	var failures []string
	var mu sync.Mutex
	engine, err := oriel.Open(ctx, oriel.Config{Store: store, Calls: oriel.CallOptions{Profile: "off"}, NoEmbed: true,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Events: func(e oriel.Event) {
			if e.Kind != oriel.EventCall {
				mu.Lock()
				failures = append(failures, fmt.Sprintf("%s: %s", e.Kind, e.Error))
				mu.Unlock()
			}
		}})
	if err != nil {
		return nil, err
	}
	server, err := proxy.New(proxy.Options{OpenAI: provider.URL, Anthropic: provider.URL, Engine: engine})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- server.Serve(serving, l) }()
	front := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: l.Addr().String()})
	front.FlushInterval = -1
	sent := &tee{next: front}
	client := httptest.NewServer(sent)
	defer client.Close()

	began := time.Now()
	out, err := agent(name, "", install, dir, work, client.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	took := time.Since(began)
	stop()
	if err := <-done; err != nil {
		return nil, err
	}
	if err := engine.Close(); err != nil {
		return nil, err
	}
	problems = append(failures, model.Problems()...)
	if s.step != calls {
		problems = append(problems, fmt.Sprintf("%d tool calls of %d: %s", s.step, calls, out))
	}
	if !slices.Equal(sent.bodies, arrived.bodies) {
		problems = append(problems, fmt.Sprintf("the provider got other bytes than were sent (%d bodies, %d sent)",
			len(arrived.bodies), len(sent.bodies)))
	}
	stored, err := look(store, s.calls)
	if err != nil {
		return nil, err
	}
	problems = append(problems, stored...)
	stats, err := store.Stats(ctx, timeline.Local)
	fmt.Printf("%s: %d calls in %.1f s, %.1f MB sent; %d conversation(s), %d messages, %.1f MB stored, %.1f MB on disk\n",
		name, s.calls, took.Seconds(), float64(sent.bytes)/1e6, stats.Conversations, stats.Messages,
		float64(stats.Bytes)/1e6, float64(stats.Disk)/1e6)
	return problems, err
}

// look returns what is wrong with the stored history.
func look(store timeline.Store, calls int) (problems []string, err error) {
	all, err := store.Conversations(ctx, timeline.Local)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		for _, c := range all {
			problems = append(problems, fmt.Sprintf("conversation %q has %d messages", c.Name, c.Head.Depth))
		}
	}
	recorded, results := 0, 0
	for _, c := range all {
		records, err := store.Records(ctx, timeline.Local, c.Name, "call", "")
		if err != nil {
			return nil, err
		}
		for i := range records {
			if _, err := call.Read(ctx, store, timeline.Local, &records[i]); err != nil {
				problems = append(problems, err.Error())
			}
		}
		recorded += len(records)
		err = store.Messages(ctx, timeline.Local, c.Head, 1, math.MaxInt64, false, func(e *timeline.Entry) error {
			if strings.Contains(string(e.Raw), "line 60 of part") {
				results++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if recorded != calls {
		problems = append(problems, fmt.Sprintf("%d calls are stored of %d", recorded, calls))
	}
	if results < calls-1 {
		problems = append(problems, fmt.Sprintf("%d results are stored of %d", results, calls-1))
	}
	err = store.Verify(ctx, func(p timeline.Problem) { problems = append(problems, p.What) })
	return problems, err
}
