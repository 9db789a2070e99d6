package windows

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/window"
)

// mostAnswer is the most bytes that are read of an answer: Ollama lists the tensors of a model.
const mostAnswer = 8 << 20

// answer asks the server for a model. loaded is the window with which Ollama runs it now.
func (s *Server) answer(ctx context.Context, name string) (told window.Told, loaded int) {
	if !s.ollama {
		for _, ask := range []func(context.Context, string) int{s.vllm, s.llamaCPP, s.lmStudio} {
			if n := ask(ctx, name); n > 0 {
				return window.Told{Usual: n, Most: n}, 0
			}
		}
	}
	told, loaded, ok := s.ollamas(ctx, name)
	if ok && !s.ollama && told.Usual == 0 && loaded == 0 { // by a path of OpenAI's, whose requests name no window
		told.Usual = ollamaDefault
	}
	return told, loaded
}

// ollamaDefault is the window of Ollama on machines with little memory, unless it is set.
const ollamaDefault = 4096

// vllm asks vLLM, or another server that lists its models with their windows.
func (s *Server) vllm(ctx context.Context, name string) int {
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			MaxModelLen int    `json:"max_model_len"`
		} `json:"data"`
	}
	s.get(ctx, http.MethodGet, "/v1/models", nil, &list)
	for _, m := range list.Data {
		if m.ID == name {
			return tokens(m.MaxModelLen)
		}
	}
	return 0
}

// llamaCPP asks llama.cpp's server, which runs one model, whatever name a request gives it.
func (s *Server) llamaCPP(ctx context.Context, _ string) int {
	var props struct {
		Settings struct {
			Window int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	s.get(ctx, http.MethodGet, "/props", nil, &props)
	return tokens(props.Settings.Window)
}

func (s *Server) lmStudio(ctx context.Context, name string) int {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Loaded int    `json:"loaded_context_length"`
		} `json:"data"`
	}
	s.get(ctx, http.MethodGet, "/api/v0/models", nil, &list)
	for _, m := range list.Data {
		if m.ID == name {
			return tokens(m.Loaded)
		}
	}
	return 0
}

// ollamas asks Ollama: what the file of the model sets, how much the model takes, and with
// which window it runs now. ok reports that the server is Ollama's and has the model.
func (s *Server) ollamas(ctx context.Context, name string) (told window.Told, loaded int, ok bool) {
	var show struct {
		Parameters string                     `json:"parameters"`
		RemoteHost string                     `json:"remote_host"`
		Info       map[string]json.RawMessage `json:"model_info"`
	}
	body, err := json.Marshal(map[string]string{"model": name})
	if err != nil || !s.get(ctx, http.MethodPost, "/api/show", body, &show) {
		return told, 0, false
	}
	for key, value := range show.Info {
		if strings.HasSuffix(key, ".context_length") {
			told.Most = max(told.Most, number(string(value)))
		}
	}
	for line := range strings.Lines(show.Parameters) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "num_ctx" {
			told.Usual = number(words[1])
		}
	}
	if told.Usual == 0 && show.RemoteHost != "" { // a model of Ollama's cloud runs with all it takes
		told.Usual = told.Most
	}
	var ps struct {
		Models []struct {
			Name, Model string
			Window      int `json:"context_length"`
		} `json:"models"`
	}
	s.get(ctx, http.MethodGet, "/api/ps", nil, &ps)
	for _, m := range ps.Models {
		if tagged(m.Model) == tagged(name) || tagged(m.Name) == tagged(name) {
			loaded = tokens(m.Window)
		}
	}
	return told, loaded, told.Most > 0 || told.Usual > 0 || loaded > 0
}

// tagged returns a model's name with its tag.
func tagged(name string) string {
	if !strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
		name += ":latest"
	}
	return strings.ToLower(name)
}

// number reads a number of tokens, 0 if it is none.
func number(text string) int {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 1 || f > mostTokens {
		return 0
	}
	return int(f)
}

// tokens returns a window that a server told, 0 if it can be none: budgets are computed with it.
func tokens(n int) int {
	if n < 1 || n > mostTokens {
		return 0
	}
	return n
}

const mostTokens = 1<<31 - 1

// get sends a question and reads its answer, and reports whether there was one.
func (s *Server) get(ctx context.Context, method, path string, body []byte, into any) bool {
	at := s.root
	at.Path += path
	r, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return false
	}
	r.Header = s.header.Clone()
	r.Header.Set("Content-Type", "application/json")
	res, err := s.asker.client.RoundTrip(r)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	return err == nil && res.StatusCode == http.StatusOK && json.Unmarshal(data, into) == nil
}

// isLocal reports whether a host is this machine or in a private network, as far as its name
// tells.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !strings.Contains(host, ".") {
		return host != "" // localhost, or a service of a container's network
	}
	for _, end := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return false
}
