package proxy_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/proxy"
)

// A key of another vendor reaches no upstream: paths that only one vendor has go to that
// vendor, however they are spelt, or are refused with a sentence, while paths that only look
// alike go through.
//
// PROXY rule 22
func TestKeysReachNoOtherVendor(t *testing.T) {
	reached := ""
	at := func(api string) *httptest.Server {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached = api
			io.WriteString(w, "{}")
		}))
		t.Cleanup(up.Close)
		return up
	}
	google, llama := at("the Gemini API"), at("Ollama's own API")
	s := start(t, proxy.Options{Gemini: google.URL, Ollama: llama.URL},
		func(w http.ResponseWriter, r *http.Request) {
			reached = "shared"
			io.WriteString(w, "{}")
		})
	for line, api := range map[string]string{
		"POST /v1beta/models/gemini-2.5-pro:generateContent":                     "the Gemini API",
		"POST /v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse&key=k": "the Gemini API",
		"POST /v1/v1beta/models/gemini-2.5-pro:generateContent":                  "the Gemini API",
		"POST /v1/models/gemini-2.5-pro:generateContent":                         "the Gemini API",
		"POST /v1/models/gemini-2.5-pro%3AcountTokens":                           "the Gemini API",
		"GET /v1beta/models": "the Gemini API",
		"POST /v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:predict":       "Vertex AI",
		"POST /projects/p/locations/l/publishers/anthropic/models/claude-opus:streamRawPredict": "Vertex AI",
		"POST /v1beta1/projects/p/locations/l/publishers/google/models/gemini:generateContent":  "Vertex AI",
		"POST /model/anthropic.claude-sonnet-4-5-v1%3A0/converse":                               "Amazon Bedrock",
		"POST /model/arn%3Aaws%3Abedrock%3Ainference-profile%2Fx/invoke-with-response-stream":   "Amazon Bedrock",
		"POST /v1/model/m/invoke":                          "Amazon Bedrock",
		"POST /api/chat":                                   "Ollama's own API",
		"GET /v1/api/tags":                                 "Ollama's own API",
		"POST /p/thrifty/api/generate":                     "Ollama's own API",
		"POST /V1BETA/models/gemini:generateContent":       "the Gemini API",
		"POST /v1/models/gemini:GenerateContent":           "the Gemini API",
		"POST /v1/models/gemini%253AgenerateContent":       "the Gemini API",
		"POST /v1/models/gemini:generateContent;x=1":       "the Gemini API",
		"POST /v1/models/gemini:generateContent%2F":        "the Gemini API",
		"POST /v1/models%2Fgemini:generateContent/":        "the Gemini API",
		"POST //v1beta/models/g":                           "the Gemini API",
		"POST /./v1beta/models/g":                          "the Gemini API",
		"POST /x/../v1beta/models/g":                       "the Gemini API",
		"POST /%76%31beta/models/g":                        "the Gemini API",
		"POST /v1%5Cmodels%5Cgemini:generateContent":       "the Gemini API",
		"GET /google/v1beta/models":                        "the Gemini API",
		"GET /p/full/v1alpha/models":                       "the Gemini API",
		"POST /v1beta3/x":                                  "the Gemini API",
		"POST /v1internal:streamGenerateContent":           "Gemini Code Assist",
		"GET /v1/tunedModels/x":                            "the Gemini API",
		"POST /v1/projects/p/Locations/l/publishers/x":     "Vertex AI",
		"POST /V1Beta1/x":                                  "Vertex AI",
		"POST /vertex/v1/Projects/p/locations/l/endpoints": "Vertex AI",
		"POST /model/m/Converse":                           "Amazon Bedrock",
		"POST /MODEL/m/converse/":                          "Amazon Bedrock",
		"POST /bedrock/model/m/converse":                   "Amazon Bedrock",
		"POST /model%2Fm%2Fconverse":                       "Amazon Bedrock",
		"POST /model/m/async-invoke":                       "Amazon Bedrock",
		"POST /guardrail/g/version/1/apply":                "Amazon Bedrock",
		"GET /foundation-models":                           "Amazon Bedrock",
		"GET /inference-profiles?type=SYSTEM_DEFINED":      "Amazon Bedrock",
		"POST /model/us.anthropic.claude-opus-4-8/invoke":  "Amazon Bedrock",
		"POST /api/Chat":                                   "Ollama's own API",
		"POST /API//chat/":                                 "Ollama's own API",
		"POST /ollama/api/chat":                            "Ollama's own API",
		"POST /api%2Fchat":                                 "Ollama's own API",
		"POST /api/blobs/sha256:x":                         "Ollama's own API",
		"POST /api/web_search":                             "Ollama's own API",
		"POST /v1/models/m:tune":                           "",
		"GET /v1/models/model":                             "",
		"GET /v1/models/ft:gpt-4o:org::predict-x":          "",
		"POST /api/v1/chat/completions":                    "",
		"GET /api/v1/models":                               "",
		"POST /v1beta/openai/chat/completions":             "",
		"POST /v1/uploads":                                 "",
	} {
		reached = ""
		method, path, _ := strings.Cut(line, " ")
		c := s.raw(method + " " + path +
			" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}") // as it is spelt
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(line, err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		switch api {
		case "":
			if reached != "shared" {
				t.Errorf("%s: reached %q: %s", line, reached, body)
			}
		case "Amazon Bedrock":
			if reached != "" || res.StatusCode != http.StatusNotFound || !strings.Contains(string(body), api) {
				t.Errorf("%s: status %d, reached %q, want a refusal that names %s: %s", line, res.StatusCode, reached,
					api, body)
			}
		case "Ollama's own API":
			if reached != api {
				t.Errorf("%s: reached %q: %s", line, reached, body)
			}
		default: // this upstream may be Vertex AI's
			if reached != "the Gemini API" {
				t.Errorf("%s: reached %q: %s", line, reached, body)
			}
		}
	}
}

// OpenAI's and Anthropic's own servers get no key that another vendor made, wherever the
// request has it. Another upstream may be that vendor's.
//
// PROXY rule 22
func TestKeysOfOtherVendorsAreNotForwarded(t *testing.T) {
	for _, c := range []struct{ path, header, value, want string }{
		{"/v1/models?key=AIzaX", "", "", ""}, // it goes to Google
		{"/v1/models?key=x", "", "", "the Gemini API"},
		{"/v1beta/models/g:generateContent?key=sk-ant-x", "", "", "Anthropic"},
		{"/v1beta/models/g:generateContent", "X-Goog-Api-Key", "sk-ant-x", "Anthropic"},
		{"/v1beta/models/g:generateContent", "Authorization", "Bearer sk-proj-x", "OpenAI"},
		{"/v1beta/models", "X-Goog-Api-Key", "AIzaX", ""},
		{"/v1/models", "X-Goog-Api-Key", "AIzaX", ""},
		{"/api/chat", "X-Api-Key", "sk-ant-x", "Anthropic"},
		{"/api/chat", "Authorization", "Bearer AIzaX", "the Gemini API"},
		{"/api/chat", "Authorization", "Bearer ollama", ""},
		{"/v1/chat/completions?x=1&k%65y=x", "", "", "the Gemini API"},
		{"/v1/models?alt=sse;KEY=x", "", "", "the Gemini API"},
		{"/v1/messages", "X-Goog-Api-Key", "x", "the Gemini API"},
		{"/v1/messages", "X-Goog-User-Project", "x", "the Gemini API"},
		{"/v1/chat/completions", "Authorization", "Bearer AIzaX", "the Gemini API"},
		{"/v1/responses", "Authorization", "bearer  ya29.x", "the Gemini API"},
		{"/v1/messages", "X-Api-Key", "AIzaX", "the Gemini API"},
		{"/v1/embeddings", "Authorization", "AWS4-HMAC-SHA256 Credential=AKIA", "Amazon Bedrock"},
		{"/v1/embeddings", "X-Amz-Security-Token", "x", "Amazon Bedrock"},
		{"/v1/chat/completions", "Authorization", "Bearer ABSKx", "Amazon Bedrock"},
		{"/v1/chat/completions", "Authorization", "Bearer sk-or-v1-x", "OpenRouter"},
		{"/v1/responses", "Authorization", "Bearer gsk_x", "Groq"},
		{"/v1/messages", "X-Api-Key", "xai-x", "xAI"},
		{"/v1/chat/completions", "Authorization", "Bearer github_pat_x", "GitHub"},
		{"/v1/embeddings", "Api-Key", "hf_x", "Hugging Face"},
		{"/v1/messages", "Authorization", "Bearer sk-proj-x", "OpenAI"},
		{"/v1/messages", "X-Api-Key", "sk-svcacct-x", "OpenAI"},
		{"/v1/chat/completions", "Authorization", "Bearer sk-proj-x", ""},
		{"/v1/responses", "Authorization", "Bearer eyJhbGciOi.x.y", ""},
		{"/v1/chat/completions", "Authorization", "Bearer sk-key", ""},
		{"/v1/chat/completions", "X-Amz-Cf-Id", "of CloudFront", ""},
		{"/v1/messages?beta=true", "X-Api-Key", "sk-ant-key", ""},
		{"/v1/models?after_id=key&limit=2", "Authorization", "Bearer sk-AIza", ""},
	} {
		r := httptest.NewRequest("POST", c.path, nil)
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		if why := proxy.ForeignForTest(proxy.Options{}, r); (why != "") != (c.want != "") ||
			!strings.Contains(why, c.want) {
			t.Errorf("%v: %q", c, why)
		}
		other := proxy.Options{OpenAI: "https://gateway.example/v1", Anthropic: "https://gateway.example",
			Gemini: "https://gateway.example", Ollama: "https://gateway.example"}
		if why := proxy.ForeignForTest(other, r); why != "" {
			t.Errorf("%v, to a gateway: %q", c, why)
		}
	}
}

// Google's APIs at hosts of their own are not asked for at the Gemini API's, and a vendor's own
// server gets no key of another, whichever setting names it.
//
// PROXY rule 22
func TestUpstreamsHaveTheirOwnAPIs(t *testing.T) {
	const (
		vertex  = "https://europe-west4-aiplatform.googleapis.com"
		bedrock = "https://bedrock-runtime.us-east-1.amazonaws.com"
		mantle  = "https://bedrock-mantle.us-east-1.api.aws/anthropic"
	)
	for _, c := range []struct {
		o                         proxy.Options
		path, header, value, want string
	}{
		{proxy.Options{}, "/v1/projects/p/locations/l/publishers/google/models/g:generateContent", "", "",
			"--upstream-gemini"},
		{proxy.Options{Gemini: vertex}, "/v1/projects/p/locations/l/publishers/google/models/g:generateContent", "", "",
			""},
		{proxy.Options{Gemini: vertex}, "/v1/projects/p/locations/l/x", "Authorization", "Bearer sk-ant-x",
			"Anthropic"},
		{proxy.Options{}, "/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict", "Authorization",
			"Bearer ya29.x", "--upstream-gemini"},
		{proxy.Options{Anthropic: "https://gateway.example"},
			"/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict", "Authorization", "Bearer ya29.x",
			"--upstream-gemini"},
		{proxy.Options{Gemini: vertex}, "/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict",
			"Authorization", "Bearer ya29.x", ""},
		{proxy.Options{Gemini: vertex}, "/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict",
			"X-Api-Key",
			"sk-ant-x", "Anthropic"},
		{proxy.Options{}, "/v1internal:generateContent", "", "", "Gemini Code Assist"},
		{proxy.Options{}, "/model/m/converse", "", "", "--upstream-bedrock"},
		{proxy.Options{}, "/model/anthropic.claude-opus-4-8/invoke", "Authorization", "Bearer ABSKx",
			"--upstream-bedrock"},
		{proxy.Options{OpenAI: "https://gateway.example/v1", Anthropic: "https://gateway.example"},
			"/model/anthropic.claude-opus-4-8/invoke", "Authorization", "Bearer bedrock-api-key-x",
			"--upstream-bedrock"},
		{proxy.Options{Bedrock: bedrock}, "/model/anthropic.claude-opus-4-8/invoke", "Authorization", "Bearer ABSKx",
			""},
		{proxy.Options{Bedrock: bedrock}, "/model/anthropic.claude-opus-4-8/invoke", "X-Api-Key", "sk-ant-x",
			"Anthropic"},
		{proxy.Options{Bedrock: bedrock}, "/model/m/converse", "Authorization", "Bearer ABSKx", ""},
		{proxy.Options{Bedrock: bedrock}, "/model/m/invoke", "Authorization", "AWS4-HMAC-SHA256 Credential=AKIA", ""},
		{proxy.Options{Bedrock: bedrock}, "/model/m/invoke", "X-Amz-Date", "20261119T220000Z", ""},
		{proxy.Options{Bedrock: bedrock}, "/model/m/invoke", "Authorization", "Bearer sk-ant-x", "Anthropic"},
		{proxy.Options{Bedrock: bedrock}, "/v1/messages", "X-Api-Key", "ABSKx", "Amazon Bedrock"},
		{proxy.Options{Anthropic: mantle}, "/v1/messages", "X-Api-Key", "ABSKx", ""},
		{proxy.Options{Anthropic: mantle}, "/v1/messages", "Authorization", "Bearer bedrock-api-key-x", ""},
		{proxy.Options{Anthropic: mantle}, "/v1/messages", "Authorization", "AWS4-HMAC-SHA256 Credential=AKIA", ""},
		{proxy.Options{Anthropic: mantle}, "/v1/messages", "Authorization", "Bearer sk-ant-oat01-x", "Anthropic"},
		{proxy.Options{Anthropic: bedrock + "/anthropic"}, "/v1/messages", "X-Api-Key", "sk-ant-x", "Anthropic"},
		{proxy.Options{Anthropic: "https://lb-1.us-east-1.elb.amazonaws.com"}, "/v1/messages", "X-Api-Key", "sk-ant-x",
			""},
		{proxy.Options{OpenAI: bedrock + "/openai/v1"}, "/v1/responses", "Authorization", "Bearer sk-proj-x", "OpenAI"},
		{proxy.Options{OpenAI: bedrock + "/openai/v1"}, "/v1/responses", "Authorization", "Bearer ABSKx", ""},
		{proxy.Options{Gemini: "https://api.openai.com/v1"}, "/v1beta/models", "X-Goog-Api-Key", "AIzaX",
			"the Gemini API"},
		{proxy.Options{Ollama: "https://ollama.com"}, "/api/chat", "Authorization", "Bearer sk-proj-x", "OpenAI"},
		{proxy.Options{OpenAI: "https://chat.example/api"}, "/api/embed", "Authorization", "Bearer sk-x", ""},
		{proxy.Options{}, "/v1beta/openai/chat/completions", "Authorization", "Bearer AIzaX", "the Gemini API"},
		{proxy.Options{OpenAI: "https://generativelanguage.googleapis.com/v1beta/openai"},
			"/v1beta/openai/chat/completions", "Authorization", "Bearer AIzaX", ""},
	} {
		r := httptest.NewRequest("POST", c.path, nil)
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		if why := proxy.ForeignForTest(c.o, r); (why != "") != (c.want != "") || !strings.Contains(why, c.want) {
			t.Errorf("%v: %q", c, why)
		}
	}
}

// What belongs to a ChatGPT login goes to its own host, and no key of another vendor goes there.
func TestChatGPTLoginsStayAtTheirHost(t *testing.T) {
	for _, tc := range []struct {
		path, key, account, want string
	}{
		{"/backend-api/codex/responses", "eyJhbGciOi.x.y", "acc", ""},
		{"/backend-api/wham/usage", "eyJhbGciOi.x.y", "", ""},
		{"/backend-api/codex/responses", "sk-proj-abc", "", "a key for OpenAI"},
		{"/backend-api/codex/responses", "sk-ant-abc", "", "a key for Anthropic"},
		{"/v1/responses", "eyJhbGciOi.x.y", "acc", "/backend-api/codex"},
		{"/v1/responses", "sk-proj-abc", "", ""},
	} {
		r := httptest.NewRequest("POST", tc.path, nil)
		r.Header.Set("Authorization", "Bearer "+tc.key)
		if tc.account != "" {
			r.Header.Set("Chatgpt-Account-Id", tc.account)
		}
		got := proxy.ForeignForTest(proxy.Options{}, r)
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s with %s: %q, want %q", tc.path, tc.key, got, tc.want)
		}
	}
	// A gateway of one's own gets what is sent to it.
	r := httptest.NewRequest("POST", "/v1/responses", nil)
	r.Header.Set("Chatgpt-Account-Id", "acc")
	if got := proxy.ForeignForTest(proxy.Options{OpenAI: "https://gateway.example/v1"}, r); got != "" {
		t.Error(got)
	}
}
