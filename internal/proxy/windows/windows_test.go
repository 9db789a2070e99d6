package windows

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/window"
)

var _ call.Windows = (*Server)(nil)

// fake answers by method and path, and counts the questions.
type fake struct {
	answers map[string]string
	asked   []string
	hangs   bool
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.asked = append(f.asked, r.Method+" "+r.URL.Path)
	if f.hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	res := &http.Response{StatusCode: 404, Body: http.NoBody, Header: http.Header{}, Request: r}
	if text, ok := f.answers[r.Method+" "+r.URL.Path]; ok {
		res.StatusCode, res.Body = 200, io.NopCloser(strings.NewReader(text))
	}
	return res, nil
}

const (
	show     = "POST /api/show"
	ps       = "GET /api/ps"
	trained  = `"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}`
	loaded8k = `{"models":[{"name":"qwen3:latest","model":"qwen3:latest","context_length":8192}]}`
)

// SPEC B1
func TestServersTellTheirWindows(t *testing.T) {
	for _, c := range []struct {
		name    string
		base    string
		ollama  bool
		model   string
		answers map[string]string
		want    window.Told
	}{
		{"the file of a model", "http://127.0.0.1:11434", true, "qwen3",
			map[string]string{show: `{"parameters":"stop    \"<|im_end|>\"\nnum_ctx     16384",` + trained + `}`,
				ps: loaded8k},
			window.Told{Usual: 16384, Most: 40960}},
		{"a model that runs", "http://127.0.0.1:11434", true, "qwen3",
			map[string]string{show: `{` + trained + `}`, ps: loaded8k}, window.Told{Usual: 8192, Most: 40960}},
		{"a model that does not run", "http://127.0.0.1:11434", true, "qwen3",
			map[string]string{show: `{` + trained + `}`, ps: `{"models":[]}`}, window.Told{Most: 40960}},
		{"a model of the cloud", "http://127.0.0.1:11434", true, "qwen3",
			map[string]string{show: `{"remote_host":"https://ollama.com:443",` + trained + `}`, ps: `{"models":[]}`},
			window.Told{Usual: 40960, Most: 40960}},
		{"Ollama by OpenAI's path", "http://127.0.0.1:11434/v1", false, "qwen3",
			map[string]string{show: `{` + trained + `}`, ps: `{"models":[]}`}, window.Told{Usual: 4096, Most: 40960}},
		{"vLLM", "http://10.0.0.7:8000/v1", false, "Qwen/Qwen3-8B",
			map[string]string{"GET /v1/models": `{"data":[{"id":"Qwen/Qwen3-8B","max_model_len":32768}]}`},
			window.Told{Usual: 32768, Most: 32768}},
		{"llama.cpp", "http://localhost:8080", false, "any",
			map[string]string{"GET /v1/models": `{"data":[{"id":"any"}]}`,
				"GET /props": `{"default_generation_settings":{"n_ctx":2048}}`}, window.Told{Usual: 2048, Most: 2048}},
		{"LM Studio", "http://localhost:1234/v1", false, "q",
			map[string]string{
				"GET /api/v0/models": `{"data":[{"id":"q","max_context_length":9000,"loaded_context_length":4500}]}`},
			window.Told{Usual: 4500, Most: 4500}},
		{"a window below zero", "http://127.0.0.1:11434", true, "qwen3",
			map[string]string{show: `{` + trained + `}`, ps: strings.Replace(loaded8k, "8192", "-8192", 1)},
			window.Told{Most: 40960}},
		{"a window beyond all sense", "http://10.0.0.7:8000/v1", false, "q",
			map[string]string{"GET /v1/models": `{"data":[{"id":"q","max_model_len":9223372036854775807}]}`},
			window.Told{}},
		{"nobody", "http://localhost:1", false, "q", nil, window.Told{}},
		{"behind a path", "http://127.0.0.1/gateway/api", true, "qwen3",
			map[string]string{"POST /gateway/api/show": `{` + trained + `}`}, window.Told{Most: 40960}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := New(&fake{answers: c.answers}, time.Now)
			defer a.Close()
			base, _ := url.Parse(c.base)
			if got := a.Of(base, c.ollama, nil).Of(t.Context(), c.model, 0); got != c.want {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
		})
	}
}

// A server that does not answer delays a call by wait, once a minute, and is not asked by
// many calls at a time.
func TestASilentServerDelaysBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{hangs: true}
		a := New(f, time.Now)
		defer a.Close()
		base, _ := url.Parse("http://127.0.0.1:11434")
		s := a.Of(base, true, nil)
		for range 3 {
			began := time.Now()
			if got := s.Of(t.Context(), "m", 0); got != (window.Told{}) || time.Since(began) > wait {
				t.Errorf("%+v after %v", got, time.Since(began))
			}
		}
		time.Sleep(patience)
		synctest.Wait()
		began := time.Now()
		s.Of(t.Context(), "m", 0)
		if time.Since(began) != 0 || len(f.asked) != 1 {
			t.Errorf("asked %v, %v later", f.asked, time.Since(began))
		}
	})
}

// The window of a model that was loaded meanwhile is known at the next call; one that a request
// with a window of its own may have loaded does not count for others.
func TestALoadedModelIsKnownAtTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]string{show: `{` + trained + `}`, ps: `{"models":[]}`}}
		a := New(f, time.Now)
		defer a.Close()
		base, _ := url.Parse("http://127.0.0.1:11434")
		s := a.Of(base, true, nil)
		if got := s.Of(t.Context(), "qwen3", 0); got.Usual != 0 {
			t.Errorf("%+v of a model that does not run", got)
		}
		f.answers[ps] = loaded8k
		if got := s.Of(t.Context(), "qwen3", 0); got.Usual != 8192 {
			t.Errorf("%+v of a model that runs", got)
		}
		n := len(f.asked)
		if s.Of(t.Context(), "qwen3", 0); len(f.asked) != n {
			t.Error("asked again at once")
		}
		s.Of(t.Context(), "qwen3", 32768)
		if got := s.Of(t.Context(), "qwen3", 0); got.Usual != 0 {
			t.Errorf("%+v, although a request has asked for another", got)
		}
	})
}

func TestOnlyLocalServersAreAsked(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "[::1]": true, "192.168.1.5": true,
		"ollama": true, "host.docker.internal": true, "gpu.local": true, "api.openai.com": false, "8.8.8.8": false} {
		base, _ := url.Parse("http://" + host + ":1/v1")
		if got := New(nil, time.Now).Of(base, false, nil) != nil; got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	f := &fake{}
	a := New(f, time.Now)
	defer a.Close()
	base, _ := url.Parse("http://127.0.0.1:4000/v1")
	for _, model := range []string{"gpt-4o", "anthropic/claude-sonnet-4-5", ""} {
		a.Of(base, false, nil).Of(context.Background(), model, 0)
	}
	if len(f.asked) > 0 {
		t.Errorf("a gateway to vendors was asked: %v", f.asked)
	}
}
