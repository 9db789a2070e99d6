package anthropic

import (
	"errors"
	"net/url"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/bedrock"
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

// Bedrock has the model and one of these actions in the path of a call.
const (
	bedrockWhole    = "invoke"
	bedrockStreamed = "invoke-with-response-stream"
)

// isCall does not accept /v1/threads/ID/messages, which is OpenAI's.
func isCall(path string) bool {
	model, _ := vertexCall(path)
	return protocol.IsAt(path, "/messages", "/v1") || model != "" && model != vertexCount || invoked(path) != ""
}

// invoked returns the model of a call of Bedrock's InvokeModel, or "" for another path. Bodies
// there are those of the model's vendor, which an ARN of a profile does not name: accepts decides.
func invoked(path string) (model string) {
	model, action := bedrock.Split(path)
	if action != bedrockWhole && action != bedrockStreamed {
		return ""
	}
	if strings.Contains(model, "claude") || strings.Contains(model, "anthropic.") ||
		bedrock.IsARN(model) && !strings.Contains(model[strings.LastIndexByte(model, '/')+1:], ".") {
		return model
	}
	return ""
}

// accepts refuses what is sent to a model of another vendor.
func accepts(path string, has func(member string) bool) error {
	if invoked(path) != "" && !has("anthropic_version") {
		return errors.New("the body has no anthropic_version: it is not one for Claude")
	}
	return nil
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

// readPath reads the model of a call of a cloud. Clients of Vertex AI give "stream" beside the
// method, which decides.
func readPath(r *chat.Request, path string) {
	if model := invoked(path); model != "" {
		r.Model, r.Stream = model, strings.HasSuffix(path, "/"+bedrockStreamed)
		return
	}
	model, method := vertexCall(path)
	if model == "" || model == vertexCount {
		return
	}
	r.Model, r.Stream = model, method == vertexStreamed
}
