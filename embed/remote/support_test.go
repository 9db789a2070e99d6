package remote_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/embed/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is a request as it was sent.
type asked struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Format     string   `json:"encoding_format"`
	Dimensions *int     `json:"dimensions"`
}

func readAsked(t *testing.T, r *http.Request) (a asked) {
	t.Helper()
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, &a)
	}
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" ||
		r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s (%s) %q: %v", r.Method, r.URL, r.Header.Get("Content-Type"), raw, err)
	}
	return a
}

// serve starts a server and a model that asks it. Change changes the options.
func serve(t *testing.T, h http.HandlerFunc, change ...func(*remote.Options)) *remote.Model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	o := remote.Options{BaseURL: s.URL + "/v1", Model: "m", Retries: -1, Client: s.Client()}
	for _, c := range change {
		c(&o)
	}
	return open(t, o)
}

func open(t *testing.T, o remote.Options) *remote.Model {
	t.Helper()
	m, err := remote.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sends answers every request with a status and a body.
func sends(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// one is an answer to one text.
const one = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[3,4]}]}`

// fault asks for texts and gives the error that must come.
func fault(t *testing.T, m *remote.Model, texts ...string) *remote.Error {
	t.Helper()
	vectors, err := m.Embed(t.Context(), texts)
	var e *remote.Error
	if !errors.As(err, &e) || vectors != nil {
		t.Fatalf("got %v and %v, want an *Error", vectors, err)
	}
	return e
}

// normal fails unless all vectors have length 1.
func normal(t testing.TB, vectors [][]float32) {
	t.Helper()
	for i, v := range vectors {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Errorf("vector %d has length² %v", i, sum)
		}
	}
}

func file(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
