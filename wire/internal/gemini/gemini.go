// Package gemini is Google's Gemini API: POST …/models/MODEL:generateContent and
// :streamGenerateContent, on the Gemini API's host and on that of Vertex AI.
//
// The model is in the path. The model's turns have the role "model"; results of functions
// are in turns of the user, behind the calls that they answer, and are paired by id, else by
// name and order. A signature belongs to the part that has it, which goes back as it came.
// Names are accepted in both spellings of Google's JSON: functionCall and function_call.
package gemini

import (
	"net/url"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/google"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Protocol returns the protocol.
func Protocol() *protocol.Protocol {
	return &protocol.Protocol{
		Name:   "gemini",
		Title:  "Gemini",
		Vendor: "gemini",

		Route:    "/v1beta/models/MODEL:generateContent",
		IsCall:   func(path string) bool { return methodOf(path) == whole || methodOf(path) == streamed },
		IsCount:  func(path string) bool { return methodOf(path) == count },
		CountIn:  []string{"generateContentRequest", "generate_content_request"},
		FromPath: readPath,

		List:    "contents",
		System:  "systemInstruction",
		Tools:   []string{"tools"},
		Field:   readField,
		Message: readContent,
		Managed: managed,
		Held:    []string{"cachedContent", "cached_content"},
		Rules:   chat.Rules{ResultsFollow: true, ByName: true},

		Content:    "parts",
		Result:     locateResult,
		AsResult:   asResult,
		Arguments:  locateArguments,
		AllowsText: allowsText,
		TextPart:   func(chat.Role) string { return `{"text":` },

		Encode: encode,

		Reply:       readReply,
		Replies:     []string{"candidates", "promptFeedback"},
		StreamType:  protocol.EventStream,
		ListsEvents: true,
		NewStream:   func() protocol.Assembly { return new(stream) },

		Refusal: google.Refusal,
		TooLong: google.TooLong,

		Bare: protocol.RawOf,
	}
}

// The methods of the protocol.
const (
	whole    = "generateContent"
	streamed = "streamGenerateContent"
	count    = "countTokens"
)

// collections are the segments before the name of a model.
var collections = []string{"models", "tunedModels", "endpoints"}

// split returns the name of a model and the method of a path; both are empty unless it has
// both.
func split(path string) (model, method string) {
	at := strings.LastIndexByte(path, '/')
	last := path[at+1:]
	if strings.Contains(last, "%") {
		if plain, err := url.PathUnescape(last); err == nil {
			last = plain[strings.LastIndexByte(plain, '/')+1:]
		}
	}
	model, method, ok := strings.Cut(last, ":")
	if i := strings.LastIndexByte(method, ':'); ok && i >= 0 { // a model with a version
		model, method = model+":"+method[:i], method[i+1:]
	}
	if !ok || model == "" || at < 0 {
		return "", ""
	}
	for _, c := range collections {
		if strings.HasSuffix(path[:at], "/"+c) || path[:at] == c {
			return model, method
		}
	}
	return "", ""
}

func methodOf(path string) string {
	_, method := split(path)
	return method
}

func readPath(r *chat.Request, path string) {
	model, method := split(path)
	if model != "" {
		r.Model = model
	}
	r.Stream = method == streamed
}

// readField reads a member of a body beside the contents.
func readField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	switch name {
	case "systemInstruction", "system_instruction":
		r.Request.System, err = readSystem(r, v)
	case "tools":
		err = readTools(r, v)
	case "generationConfig", "generation_config":
		err = readConfig(r, v)
	case "model": // that of countTokens, and what some gateways add
		r.Request.Model, err = protocol.Str(v)
	}
	return err
}

// readSystem reads the system prompt: a content, or a text, which SDKs turn into one.
func readSystem(r *protocol.Reader, v rawjson.Value) ([]chat.Part, error) {
	if v.Kind() != rawjson.Object {
		return r.Content(v, readPart)
	}
	parts := v.Get("parts")
	if parts.Kind() != rawjson.Object {
		all, err := r.Content(parts, readPart)
		return all, protocol.In(err, "parts")
	}
	all, err := r.Take(parts, 1) // one part in the place of a list
	if err != nil {
		return nil, err
	}
	all[0].Raw = parts.Raw()
	return all, protocol.In(readPart(r, parts, &all[0]), "parts")
}

// readTools reads the definitions of tools. Several functions are in one element; any other
// element is a tool of Google's, such as {"googleSearch":{}}.
func readTools(r *protocol.Reader, v rawjson.Value) error {
	r.Request.Tools = nil // the last member with a name counts
	if v.Kind() == rawjson.Null {
		return nil
	}
	if v.Kind() != rawjson.Array {
		return protocol.Wrong(v, "an array")
	}
	i, n := 0, 0
	for t := range v.Elems() {
		if t.Kind() != rawjson.Object {
			return protocol.At(protocol.Wrong(t, "an object"), i)
		}
		i++
		first := true
		for k, d := range t.Members() {
			name := string(protocol.Key(k))
			if name != "functionDeclarations" && name != "function_declarations" {
				n++
				def := chat.ToolDef{Name: name, Raw: t.Raw()}
				if !first { // the element counts once
					def.Raw = d.Raw()
				}
				r.Request.Tools, first = append(r.Request.Tools, def), false
				continue
			}
			n += d.Len()
			if err := r.Few(v, n, "tools"); err != nil {
				return err
			}
			for f := range d.Elems() {
				r.Request.Tools = append(r.Request.Tools, chat.ToolDef{Name: f.Get("name").Str(), Raw: f.Raw()})
			}
		}
		if err := r.Few(v, n, "tools"); err != nil {
			return err
		}
	}
	return nil
}

// readConfig reads the limits of the reply.
func readConfig(r *protocol.Reader, v rawjson.Value) (err error) {
	for k, m := range v.Members() {
		switch string(protocol.Key(k)) {
		case "maxOutputTokens", "max_output_tokens":
			r.Request.MaxOutput, err = protocol.Count(m)
		case "thinkingConfig", "thinking_config":
			for k, n := range m.Members() {
				if name := string(protocol.Key(k)); name == "thinkingBudget" || name == "thinking_budget" {
					r.Request.ThinkingBudget, err = protocol.Count(n)
				}
			}
		}
		if err != nil {
			return protocol.In(err, k.Str())
		}
	}
	return nil
}

// managed returns the member that names a part of the prompt that Google keeps.
func managed(body rawjson.Value) string {
	for _, name := range []string{"cachedContent", "cached_content"} {
		if v := body.Get(name); v.Kind() == rawjson.String && v.Str() != "" {
			return name
		}
	}
	return ""
}
