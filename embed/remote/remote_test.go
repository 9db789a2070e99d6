package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/embed/remote"
)

// echo answers each text with a vector that tells its length, last text first.
func echo(t *testing.T, requests *[]asked) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := readAsked(t, r)
		*requests = append(*requests, a)
		var data []string
		for i, text := range a.Input {
			data = append([]string{fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[1,%d]}`, i, len(text))},
				data...)
		}
		fmt.Fprintf(w, `{"object":"list","data":[%s],"model":"m"}`, strings.Join(data, ","))
	}
}

func TestRequestIsWhatServersExpect(t *testing.T) {
	var requests []asked
	m := serve(t, echo(t, &requests))
	if _, err := m.Embed(t.Context(), []string{"<a> & \"b\"", "日本", "bad \xff byte"}); err != nil {
		t.Fatal(err)
	}
	want := []asked{{Model: "m", Input: []string{"<a> & \"b\"", "日本", "bad \ufffd byte"}, Format: "float"}}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Error(diff)
	}
}

func TestNoTextsNoRequest(t *testing.T) {
	m := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	if vectors, err := m.Embed(t.Context(), nil); err != nil || vectors == nil || len(vectors) != 0 {
		t.Error(vectors, err)
	}
}

// OpenAI refuses the whole list for one empty text.
func TestTextsWithoutContentFailNobody(t *testing.T) {
	refusal := file(t, "openai_empty.json")
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		a := readAsked(t, r)
		for _, text := range a.Input {
			if strings.TrimSpace(text) == "" {
				sends(400, refusal)(w, r)
				return
			}
		}
		fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,1]},{"index":2,"embedding":[0,1]}]}`)
	})
	vectors, err := m.Embed(t.Context(), []string{"a", "", " \n\t"})
	if err != nil || len(vectors) != 3 {
		t.Fatal(vectors, err)
	}
	normal(t, vectors)
}

// However texts are split into requests, every text gets its own vector, and no
// request is over the bounds.
func TestBatches(t *testing.T) {
	var requests []asked
	handler := echo(t, &requests)
	m := map[[2]int]*remote.Model{}
	for _, bounds := range [][2]int{{1, 0}, {3, 0}, {0, 10}, {2, 7}} {
		m[bounds] = serve(t, handler, func(o *remote.Options) { o.Batch, o.BatchBytes = bounds[0], bounds[1] })
	}
	rapid.Check(t, func(r *rapid.T) {
		bounds := rapid.SampledFrom([][2]int{{1, 0}, {3, 0}, {0, 10}, {2, 7}}).Draw(r, "bounds")
		lengths := rapid.SliceOfN(rapid.IntRange(1, 12), 0, 10).Draw(r, "lengths")
		var texts []string
		for _, n := range lengths {
			texts = append(texts, strings.Repeat("x", n))
		}
		requests = nil
		vectors, err := m[bounds].Embed(t.Context(), texts)
		if err != nil || len(vectors) != len(texts) {
			r.Fatal(vectors, err)
		}
		for i, v := range vectors {
			if got := v[1] / v[0]; got < float32(lengths[i])-0.01 || got > float32(lengths[i])+0.01 {
				r.Fatalf("text %d of length %d has the vector of one of length %v", i, lengths[i], got)
			}
		}
		var all []string
		for _, a := range requests {
			size := 0
			for _, text := range a.Input {
				size += len(text)
			}
			if bounds[0] > 0 && len(a.Input) > bounds[0] || bounds[1] > 0 && size > bounds[1] && len(a.Input) > 1 {
				r.Fatalf("a request of %d texts with %d bytes for bounds %v", len(a.Input), size, bounds)
			}
			all = append(all, a.Input...)
		}
		if diff := cmp.Diff(texts, all); diff != "" {
			r.Fatal(diff)
		}
	})
}

func TestDimensionsAreAskedForAndChecked(t *testing.T) {
	var requests []asked
	m := serve(t, echo(t, &requests), func(o *remote.Options) { o.Dimensions = 2 })
	if _, err := m.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if got := requests[0].Dimensions; got == nil || *got != 2 {
		t.Error("dimensions sent:", got)
	}
	m = serve(t, echo(t, &requests), func(o *remote.Options) { o.Dimensions = 3 })
	if e := fault(t, m, "a"); !errors.Is(e, remote.ErrAnswer) || !strings.Contains(e.Error(), "2 dimensions, not 3") {
		t.Error(e)
	}
}

func TestAModelThatChangesUnderItsNameIsNoticed(t *testing.T) {
	var calls atomic.Int32
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			sends(200, one)(w, r)
			return
		}
		sends(200, `{"data":[{"index":0,"embedding":[1,2,3]}]}`)(w, r)
	}, func(o *remote.Options) { o.Batch = 1 })
	e := fault(t, m, "a", "b") // of one call
	if !errors.Is(e, remote.ErrAnswer) || !strings.Contains(e.Error(), "3 dimensions, those before had 2") ||
		e.First != 1 || e.Last != 1 {
		t.Error(e)
	}
	if e := fault(t, m, "b"); !errors.Is(e, remote.ErrAnswer) { // of another
		t.Error(e)
	}
}

func TestErrorsSayWhatTheServerSaidAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		is     error
		want   []string
	}{
		{"openai: too long", 400, file(t, "openai_long.json"), remote.ErrTooLong,
			[]string{"status 400", "maximum context length is 8192 tokens", "give shorter texts"}},
		{"ollama: too long", 400, file(t, "ollama_long.json"), remote.ErrTooLong,
			[]string{"exceeds the context length", "give shorter texts"}},
		{"vllm: too long", 400, file(t, "vllm_error.json"), remote.ErrTooLong,
			[]string{"maximum context length is 512", "give shorter texts"}},
		{"llama.cpp: too long", 500, file(t, "llamacpp_long.json"), remote.ErrTooLong,
			[]string{"physical batch size", "--ubatch-size"}},
		{"old ollama", 404, `{"error":"model \"m\" not found, try pulling it first"}`, remote.ErrRefused,
			[]string{`model "m" not found`, "check the address"}},
		{"no embeddings", 501, `{"error":{"code":501,"message":"This server does not support embeddings."}}`,
			remote.ErrRefused, []string{"does not support embeddings", "--embeddings"}},
		{"no key", 401, `{"error":{"message":"You didn't provide an API key."}}`, remote.ErrRefused,
			[]string{"set the key"}},
		{"no credit", 429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`,
			remote.ErrRefused, []string{"no credit left"}},
		{"batch", 422, `{"message":"batch size 64 > maximum allowed batch size 32","type":"Validation"}`,
			remote.ErrRefused, []string{"lower Batch"}},
		{"dimensions", 400, `{"error":{"message":"Model does not support matryoshka representation"}}`,
			remote.ErrRefused, []string{"leave Dimensions at 0"}},
		{"fastapi", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, remote.ErrRefused,
			[]string{"field required"}},
		{"a page", 403, "<html>\n\n<title>Forbidden</title>\x00\x1b[31m\xff", remote.ErrRefused,
			[]string{"<html> <title>Forbidden</title> [31m\ufffd"}},
		{"a redirect", 301, ``, remote.ErrRefused, []string{"redirects are not followed"}},
		{"no content", 204, ``, remote.ErrAnswer, []string{"status 204"}},
		{"an error with status 200", 200, `{"error":{"message":"no provider"}}`, remote.ErrAnswer,
			[]string{"no provider"}},
		{"not JSON", 200, `hello`, remote.ErrAnswer, []string{"invalid character 'h'", "is this the address of"}},
		{"one too few", 200, one, remote.ErrAnswer, []string{"1 vectors for 2 texts"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls atomic.Int32
			handler := sends(c.status, c.body)
			m := serve(t, func(w http.ResponseWriter, r *http.Request) { calls.Add(1); handler(w, r) },
				func(o *remote.Options) { o.Retries = 3 })
			e := fault(t, m, "a", "b")
			if !errors.Is(e, c.is) || c.is == remote.ErrRefused && errors.Is(e, remote.ErrTooLong) {
				t.Errorf("%v is not %v", e, c.is)
			}
			for _, want := range append(c.want, "texts 0 to 1", "127.0.0.1") {
				if !strings.Contains(e.Error(), want) {
					t.Errorf("%q does not have %q", e, want)
				}
			}
			if calls.Load() != 1 || e.Tries != 1 {
				t.Errorf("tried %d times", calls.Load())
			}
		})
	}
}

func TestErrorsAreShort(t *testing.T) {
	m := serve(t, sends(400, strings.Repeat("é", 1<<20)))
	if e := fault(t, m, "a"); len(e.Error()) > 500 || !strings.Contains(e.Error(), "é…") {
		t.Error(len(e.Error()), e)
	}
}

func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		spaces := []byte(strings.Repeat(" ", 64<<10))
		for {
			if _, err := w.Write(spaces); err != nil {
				return
			}
		}
	})
	if e := fault(t, m, "a"); !errors.Is(e, remote.ErrAnswer) || !strings.Contains(e.Error(), "more than") {
		t.Error(e)
	}
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client has gone
		cancel()
		<-r.Context().Done()
	})
	vectors, err := m.Embed(ctx, []string{"a"})
	if !errors.Is(err, context.Canceled) || vectors != nil {
		t.Error(vectors, err)
	}
	if _, err := m.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) { // before anything is sent
		t.Error(err)
	}
}
