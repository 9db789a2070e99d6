package anthropic

import (
	"net/url"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Vertex AI has the model and the method in the path of a call, behind publishers/anthropic. The
// body is that of Anthropic's API without the model; counting has a model's place of its own.
const (
	vertexModels   = "publishers/anthropic/models/"
	vertexWhole    = "rawPredict"
	vertexStreamed = "streamRawPredict"
	vertexCount    = "count-tokens"
)

// isCall does not accept /v1/threads/ID/messages, which is OpenAI's.
func isCall(path string) bool {
	model, _ := vertexCall(path)
	return protocol.IsAt(path, "/messages", "/v1") || model != "" && model != vertexCount
}

func isCount(path string) bool {
	if model, method := vertexCall(path); model == vertexCount {
		return method == vertexWhole
	}
	call, ok := strings.CutSuffix(path, "/count_tokens")
	return ok && protocol.IsAt(call, "/messages", "/v1")
}

// vertexCall returns the model and the method of a call of Vertex AI, or "" for another path.
func vertexCall(path string) (model, method string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || !strings.HasSuffix(path[:i+1], "/"+vertexModels) {
		return "", ""
	}
	last, err := url.PathUnescape(path[i+1:])
	if err != nil {
		return "", ""
	}
	model, method, _ = strings.Cut(last, ":")
	if method != vertexWhole && method != vertexStreamed || strings.Contains(model, "/") {
		return "", ""
	}
	return model, method
}

// readPath reads the model of a call of Vertex AI. Clients give "stream" beside the method, which
// decides.
func readPath(r *chat.Request, path string) {
	model, method := vertexCall(path)
	if model == "" || model == vertexCount {
		return
	}
	r.Model, r.Stream = model, method == vertexStreamed
}
