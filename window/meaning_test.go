package window

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// SPEC A3: where there is a model, relevance compares messages with the query by
// meaning, and by words where the model fails.
func TestFitComparesByMeaning(t *testing.T) {
	var messages []string
	for i := range 20 {
		text := fmt.Sprintf("Remark %d about the weather and the harbour.", i)
		if i == 4 {
			text = "Felines rest for fifteen hours a day."
		}
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q},{"role":"assistant","content":"Noted."}`,
			text))
	}
	body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":[%s,{"role":"user","content":"And now?"}]}`,
		strings.Join(messages, ","))
	meaning := func(_ context.Context, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i, text := range texts {
			out[i] = []float32{0, 1}
			if strings.Contains(text, "cats") || strings.Contains(text, "Felines") {
				out[i] = []float32{1, 0}
			}
		}
		return out, nil
	}
	broken := func(context.Context, []string) ([][]float32, error) { return nil, errors.New("broken") }
	for name, c := range map[string]struct {
		embed func(context.Context, []string) ([][]float32, error)
		want  bool
	}{"by meaning": {meaning, true}, "by words": {nil, false}, "where the model fails": {broken, false}} {
		out, _, err := Fit(t.Context(), body, Options{Policy: "relevance", Query: "How long do cats sleep?",
			Budget: 250, Embed: c.embed})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "Felines") != c.want {
			t.Errorf("%s: the message on cats stays: %v", name, !c.want)
		}
	}
}
