package remote

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var near = cmpopts.EquateApprox(0, 1e-6)

func TestAnswersOfServers(t *testing.T) {
	openai := []float32{0.22991177, -0.92977390, -0.28750837}
	for _, c := range []struct {
		file  string
		texts int
		first []float32
	}{
		{"openai.json", 1, openai},
		{"openai_base64.json", 1, openai},
		{"ollama.json", 2, nil},
		{"vllm.json", 2, nil},
		{"llamacpp.json", 2, nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			vectors, err := parse(raw, c.texts)
			if err != nil {
				t.Fatal(err)
			}
			if c.first != nil {
				if diff := cmp.Diff(c.first, vectors[0], near); diff != "" {
					t.Error(diff)
				}
			}
			for _, v := range vectors {
				if err := normalise(v); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	v := func(vectors ...string) string { return `{"data":[` + strings.Join(vectors, ",") + `]}` }
	for _, c := range []struct {
		name, body string
		texts      int
		want       string // in the error; empty if there is none
	}{
		{"in another order", v(`{"index":1,"embedding":[0,1]}`, `{"index":0,"embedding":[1,0]}`), 2, ""},
		{"one without an index", v(`{"embedding":[1,0]}`), 1, ""},
		{"white space in numbers", "{\"data\":[{\"index\":0,\"embedding\":[ 1 ,\n -0.5e-3\t]}]}", 1, ""},
		{"tiny numbers", v(`{"index":0,"embedding":[1e-40,0]}`), 1, ""},
		{"large numbers", v(`{"index":0,"embedding":[3e38,3e38]}`), 1, ""},
		{"base64 without padding", v(`{"index":0,"embedding":"AACAPw"}`), 1, ""},

		{"too few", v(`{"index":0,"embedding":[1]}`), 2, "1 vectors for 2 texts"},
		{"too many", v(`{"index":0,"embedding":[1]}`, `{"index":1,"embedding":[1]}`), 1,
			"more than 1 vectors for 1 texts"},
		{"none", `{"object":"","data":null,"model":"","usage":{}}`, 1, "0 vectors for 1 texts"},
		{"something else", `{"models":[]}`, 1, "0 vectors for 1 texts"},
		{"a list of lists", `[[1,2]]`, 1, "cannot unmarshal array"},
		{"index twice", v(`{"index":0,"embedding":[1]}`, `{"index":0,"embedding":[1]}`), 2, "index 0 comes twice"},
		{"index too large", v(`{"index":0,"embedding":[1]}`, `{"index":2,"embedding":[1]}`), 2, "index 2 for 2 texts"},
		{"index below 0", v(`{"index":-1,"embedding":[1]}`), 1, "index -1 for 1 texts"},
		{"no index", v(`{"index":0,"embedding":[1]}`, `{"embedding":[1]}`), 2, "place 1 has no index"},
		{"index is null", v(`{"index":null,"embedding":[1]}`, `{"index":1,"embedding":[1]}`), 2,
			"place 0 has no index"},
		{"different lengths", v(`{"index":0,"embedding":[1]}`, `{"index":1,"embedding":[1,2]}`), 2,
			"vector 1 has 2 dimensions, others have 1"},
		{"empty", v(`{"index":0,"embedding":[]}`), 1, "vector 0 is empty"},
		{"null", v(`{"index":0,"embedding":null}`), 1, "vector 0 is empty"},
		{"missing", v(`{"index":0}`), 1, "vector 0 is empty"},
		{"zeros", v(`{"index":0,"embedding":[0,-0,0.0]}`), 1, "vector 0 has only zeros"},
		{"null for a number", v(`{"index":0,"embedding":[1,null]}`), 1, "where a number should be"},
		{"NaN", v(`{"index":0,"embedding":[1,NaN]}`), 1, "invalid character 'N'"},
		{"out of range", v(`{"index":0,"embedding":[1e39]}`), 1, "not finite"},
		{"nested", v(`{"index":0,"embedding":[[1,2]]}`), 1, "where a number should be"},
		{"words", v(`{"index":0,"embedding":["1"]}`), 1, "where a number should be"},
		{"an object", v(`{"index":0,"embedding":{}}`), 1, "neither numbers nor base64"},
		{"base64 NaN", v(`{"index":0,"embedding":"AADAfw=="}`), 1, "not finite"},
		{"base64 zeros", v(`{"index":0,"embedding":"AAAAAA=="}`), 1, "only zeros"},
		{"base64 of three bytes", v(`{"index":0,"embedding":"AAAA"}`), 1, "not base64 of float32"},
		{"not base64", v(`{"index":0,"embedding":"hello!"}`), 1, "not base64 of float32"},
		{"base64 of nothing", v(`{"index":0,"embedding":""}`), 1, "vector 0 is empty"},
		{"cut off", `{"data":[{"index":0,"embedding":[1`, 1, "unexpected end of JSON"},
		{"a page", `<html>`, 1, "invalid character '<'"},
		{"nothing", ``, 1, "unexpected end of JSON"},
		{"data is no list", `{"data":{}}`, 1, "data is not a list"},
		{"an error", `{"error":{"message":"no"}}`, 1, errSaid.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			vectors, err := parse([]byte(c.body), c.texts)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				check(t, vectors, c.texts)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v and %v, want an error with %q", vectors, err, c.want)
			}
		})
	}
}

func TestOrderIsThatOfIndexes(t *testing.T) {
	vectors, err := parse(
		[]byte(`{"data":[{"index":2,"embedding":[0,0,2]},{"index":0,"embedding":[9,0,0]},{"index":1,"embedding":[0,1,0]}]}`), 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, vectors); diff != "" {
		t.Error(diff)
	}
}

// check fails unless these are n vectors of one length, each normalised.
func check(t *testing.T, vectors [][]float32, n int) {
	t.Helper()
	if len(vectors) != n {
		t.Fatalf("%d vectors for %d texts", len(vectors), n)
	}
	for _, v := range vectors {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if len(v) != len(vectors[0]) || math.Abs(sum-1) > 1e-5 {
			t.Fatalf("a vector of %d numbers, the first has %d; length² %v", len(v), len(vectors[0]), sum)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, 1)
		f.Add(raw, 2)
	}
	f.Add([]byte(`{"data":[{"embedding":"AACAPw=="}],"error":null}`), 1)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		if n < 1 || n > 100 {
			return
		}
		if vectors, err := parse(body, n); err == nil {
			check(t, vectors, n)
		}
	})
}
