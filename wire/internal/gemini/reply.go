package gemini

import (
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readReply reads a response that was not streamed.
func readReply(r *protocol.Reply, root rawjson.Value) error {
	candidates, feedback := root.Get("candidates"), root.Get("promptFeedback")
	if candidates.Kind() != rawjson.Array && feedback.Kind() != rawjson.Object {
		return protocol.In(protocol.Wrong(candidates, "an array"), "candidates")
	}
	readTop(r, root)
	for c := range candidates.Elems() {
		if protocol.Number(c.Get("index")) != 0 {
			r.Note("not kept: candidates beside the first", nil)
			continue
		}
		if content := c.Get("content"); r.Message == nil && content.Get("parts").Kind() == rawjson.Array {
			r.Message = asModel(content)
		}
	}
	r.Complete = !r.Pending
	return nil
}

// asModel returns a content with the model's role, which some servers leave out.
func asModel(content rawjson.Value) []byte {
	if content.Get("role").Kind() == rawjson.String {
		return content.Raw()
	}
	return protocol.AppendReplaced(nil, content.Raw(), []protocol.Replaced{{Name: "role", Value: []byte(`"model"`)}})
}

// continuation is the reason to stop of a reply that another request continues.
const continuation = "CONTINUATION"

// readTop reads what a response or a chunk of one says beside its content, and reports
// whether it is the last one.
func readTop(r *protocol.Reply, root rawjson.Value) (ended bool) {
	for k, v := range root.Members() {
		switch string(protocol.Key(k)) {
		case "responseId":
			protocol.SetFirst(&r.ID, v)
		case "modelVersion":
			if v.Kind() == rawjson.String {
				r.Model = v.Str()
			}
		case "usageMetadata":
			readUsage(&r.Usage, v)
		case "promptFeedback":
			if reason := v.Get("blockReason"); reason.Kind() == rawjson.String {
				r.Stop, ended = "blocked: "+reason.Str(), true
			}
		case "candidates":
			for c := range v.Elems() {
				reason := c.Get("finishReason")
				if protocol.Number(c.Get("index")) == 0 && reason.Kind() == rawjson.String &&
					!reason.EqualStr("") && !reason.EqualStr("FINISH_REASON_UNSPECIFIED") {
					r.Stop, ended = reason.Str(), true
					r.Pending = r.Stop == continuation
				}
			}
		}
	}
	return ended
}

// readUsage reads counts: in a stream, each chunk has the totals so far. The prompt includes
// what was read from the cache, but not what tools of Google's put behind it; the reply does
// not include thinking.
func readUsage(u *protocol.Usage, v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		return
	}
	u.HasUsage = true
	prompt, tools, said := u.Input+u.CacheRead, 0, u.Output-u.Reasoning
	for k, n := range v.Members() {
		switch string(protocol.Key(k)) {
		case "promptTokenCount":
			protocol.SetCount(&prompt, n)
		case "toolUsePromptTokenCount":
			protocol.SetCount(&tools, n)
		case "cachedContentTokenCount":
			protocol.SetCount(&u.CacheRead, n)
		case "candidatesTokenCount":
			protocol.SetCount(&said, n)
		case "thoughtsTokenCount":
			protocol.SetCount(&u.Reasoning, n)
		}
	}
	u.CacheRead = min(u.CacheRead, prompt)
	u.Input, u.Output = prompt-u.CacheRead+tools, said+u.Reasoning
}
