package prices

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/token"
)

// sample has entries as LiteLLM's file has them.
const sample = `{
 "sample_spec": {"litellm_provider": "one of https://docs.litellm.ai/docs/providers", "mode": "one of: chat, embedding",
  "max_input_tokens": "max input tokens, if the provider specifies it", "input_cost_per_token": 0.0},
 "gpt-9": {"litellm_provider": "openai", "mode": "chat",
  "max_input_tokens": 922000, "max_output_tokens": 128000, "input_cost_per_token": 2e-06,
  "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1e-07,
  "cache_creation_input_token_cost": 2.5e-06,
  "input_cost_per_token_above_272k_tokens": 4e-06, "output_cost_per_token_above_272k_tokens": 1.5e-05,
  "input_cost_per_token_above_272k_tokens_batches": 9, "input_cost_per_token_flex": 9},
 "gpt-9-2026-11-01": {"litellm_provider": "openai", "mode": "chat",
  "max_input_tokens": 922000, "max_output_tokens": 128000, "input_cost_per_token": 2e-06,
  "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1e-07,
  "cache_creation_input_token_cost": 2.5e-06,
  "input_cost_per_token_above_272k_tokens": 4e-06, "output_cost_per_token_above_272k_tokens": 1.5e-05},
 "gpt-9-2026-10-01": {"litellm_provider": "openai", "mode": "responses", "max_input_tokens": 272000,
  "max_output_tokens": 128000, "input_cost_per_token": 3e-06, "output_cost_per_token": 1e-05},
 "azure/gpt-9": {"litellm_provider": "azure", "mode": "chat", "max_input_tokens": 1, "input_cost_per_token": 1},
 "gpt-9-realtime": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1},
 "text-embedding-9": {"litellm_provider": "openai", "mode": "embedding", "max_input_tokens": 8191},
 "claude-nine": {"litellm_provider": "anthropic", "mode": "chat",
  "max_input_tokens": 1000000, "max_output_tokens": 128000,
  "input_cost_per_token": 8e-06, "output_cost_per_token": 4e-05, "cache_read_input_token_cost": 2e-07,
  "cache_creation_input_token_cost": 1e-05, "cache_creation_input_token_cost_above_1hr": 1.6e-05,
  "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 3.2e-05, "provider_specific_entry": {"us": 1.1, "fast": 2},
  "prompt_cache_min_tokens": 512.0},
 "gpt-10": {"litellm_provider": "openai", "mode": "responses", "max_input_tokens": 922000,
  "max_output_tokens": 128000, "input_cost_per_token": 1e-06, "output_cost_per_token": 5e-06,
  "cache_creation_input_token_cost": 1.25e-06, "cache_creation_input_token_cost_above_12hr": 2.5e-06,
  "cache_creation_input_token_cost_above_12hr_above_272k_tokens": 5e-06, "input_cost_per_token_flex": 5e-07,
  "input_cost_per_token_priority": 1.75e-06},
 "gemini/gemini-9-flash-preview": {"litellm_provider": "gemini", "mode": "chat", "max_input_tokens": 1048576,
  "max_output_tokens": 65536, "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
 "mistral/zai-glm-9": {"litellm_provider": "mistral", "mode": "chat", "max_input_tokens": 1000},
 "mistral/mistral-small": {"litellm_provider": "mistral", "mode": "chat", "max_input_tokens": 32000},
 "mistral/mistral-small-latest": {"litellm_provider": "mistral", "mode": "chat", "max_input_tokens": 262144},
 "dashscope/qwen9-max": {"litellm_provider": "dashscope", "mode": "chat", "max_input_tokens": 258048,
  "tiered_pricing": [
   {"range": [0, 32000.0], "input_cost_per_token": 1e-06, "output_cost_per_token": 5e-06},
   {"range": [32000.0, 256000.0], "input_cost_per_token": 2e-06, "output_cost_per_token": 9e-06}]},
 "minimax/MiniMax-M9": {"litellm_provider": "minimax", "mode": "chat", "max_input_tokens": 1000000},
 "minimax/MiniMax-M9.1": {"litellm_provider": "minimax", "mode": "chat"}
}`

func TestVendorsOwnModelsAreTaken(t *testing.T) {
	got, err := readLiteLLM([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	rate := func(r ...float64) token.Rates {
		return token.Rates{Input: r[0], Output: r[1], CacheRead: r[2], CacheWrite: r[3], CacheWrite1h: r[4]}
	}
	want := []token.Figures{
		{ID: "qwen9-max", Provider: "alibaba", Window: 262_144, MaxInput: 258_048, Prices: token.Prices{
			Rates: rate(1, 5, 0, 0, 0), Tiers: []token.Tier{{Over: 32_000, Rates: rate(2, 9, 0, 0, 0)}}}},
		{ID: "claude-nine", Provider: "anthropic", Window: 1_000_000, MaxOutput: 128_000, CacheMin: 512,
			Prices: token.Prices{Rates: rate(8, 40, 0.2, 10, 16),
				Tiers:   []token.Tier{{Over: 200_000, Rates: rate(8, 40, 0.2, 10, 32)}},
				Service: map[string]float64{"fast": 2}}},
		{ID: "gemini-9-flash", Provider: "google", Window: 1_048_576, MaxInput: 1_048_576, MaxOutput: 65_536,
			Prices: token.Prices{Rates: rate(1, 2, 0, 0, 0)}},
		{ID: "minimax-m9", Provider: "minimax", Window: 1_000_000},
		{ID: "mistral-small", Provider: "mistral", Window: 262_144},
		{ID: "gpt-10", Provider: "openai", Window: 1_050_000, MaxInput: 922_000, MaxOutput: 128_000,
			Prices: token.Prices{Rates: rate(1, 5, 0, 1.25, 2.5),
				Tiers:   []token.Tier{{Over: 272_000, Rates: rate(1, 5, 0, 1.25, 5)}},
				Service: map[string]float64{"flex": .5, "priority": 1.75, "fast": 1.75}}},
		{ID: "gpt-9", Provider: "openai", Window: 1_050_000, MaxInput: 922_000, MaxOutput: 128_000,
			Prices: token.Prices{Rates: rate(2, 10, 0.1, 2.5, 0),
				Tiers: []token.Tier{{Over: 272_000, Rates: rate(4, 15, 0.1, 2.5, 0)}}}},
		{ID: "gpt-9-2026-10-01", Provider: "openai", Window: 400_000, MaxInput: 272_000, MaxOutput: 128_000,
			Prices: token.Prices{Rates: rate(3, 10, 0, 0, 0)}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestReadTellsTheFormsApart(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		day := time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)
		if err := os.Chtimes(path, day, day); err != nil {
			t.Fatal(err)
		}
		return path
	}
	litellm, err := Read(put("prices.json", []byte(sample)))
	if err != nil || litellm.Source != "LiteLLM's prices.json" || litellm.Date != "2026-12-24" ||
		len(litellm.Models) != 8 {
		t.Errorf("LiteLLM's file: %+v, %v", litellm, err)
	}
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	for name, text := range map[string]string{"litellm/model_prices_and_context_window_backup.json": sample,
		"litellm-9.1.2.dist-info/METADATA": ""} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	packed, err := Read(put("litellm.whl", wheel.Bytes()))
	if err != nil || packed.Source != "LiteLLM 9.1.2" || !reflect.DeepEqual(packed.Models, litellm.Models) {
		t.Errorf("a wheel: %q, %v", packed.Source, err)
	}
	data, err := litellm.Encode()
	if err != nil {
		t.Fatal(err)
	}
	own, err := Read(put("own.json", data))
	if err != nil || !reflect.DeepEqual(own, litellm) {
		t.Errorf("Oriel's own form: %v", err)
	}
	for name, c := range map[string]struct{ text, says string }{
		"empty.json": {" \n", "is empty"},
		"list.json":  {`[1]`, "not an object of models"},
		"other.json": {`{"a":{"b":1}}`, "has no model of a vendor: give LiteLLM's"},
		"own2.json":  {`{"source":"x","date":"y","models":[]}`, "YYYY-MM-DD"},
		"less.json": {`{"gpt-9":{"litellm_provider":"openai","mode":"chat","max_input_tokens":-5}}`,
			`"gpt-9": a number of tokens is negative or too large`},
		"tiers.json": {`{"gpt-9":{"litellm_provider":"openai","mode":"chat","max_input_tokens":5,"tiered_pricing":[{}]}}`,
			"a range is missing"},
		"long.json": {
			`{"gpt-` + strings.Repeat("9", 1<<20) +
				`":{"litellm_provider":"openai","mode":"chat","max_input_tokens":5}}`,
			"a name of more than 256 bytes"},
		"zip.whl": {"PK\x03\x04nonsense", "zip"},
	} {
		if _, err := Read(put(name, []byte(c.text))); err == nil || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a folder: %v", err)
	}
}

// What Read accepts, the table of models accepts or refuses with an error.
func FuzzLiteLLM(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"gpt-9":{"litellm_provider":"openai","mode":"chat","max_input_tokens":1e300,
		"input_cost_per_token":-1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parse(data, "x", time.Now())
		if err != nil {
			return
		}
		if _, err := token.Builtin().Update(s); err != nil && !strings.Contains(err.Error(), "model ") {
			t.Errorf("an error without the model: %v", err)
		}
	})
}
