package responses

import (
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/openai"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readReply reads a response object from a body or an event.
func readReply(r *protocol.Reply, root rawjson.Value) error {
	output := root.Get("output")
	if output.Kind() != rawjson.Array {
		return protocol.In(protocol.Wrong(output, "an array"), "output")
	}
	readStatus(r, root)
	if err := (&protocol.Reader{Most: protocol.MaxParts}).Few(output, output.Len(), "items"); err != nil {
		return protocol.In(err, "output")
	}
	for item := range output.Elems() {
		if item.Kind() == rawjson.Object {
			r.Items = append(r.Items, item.Raw())
		}
	}
	r.Pending = r.Stop == "in_progress" || r.Stop == "queued" || r.Stop == "cancelled"
	r.Complete = !r.Pending
	return nil
}

// readStatus reads everything except the output.
func readStatus(r *protocol.Reply, root rawjson.Value) {
	openai.ReadUsage(&r.Usage, root.Get("usage"))
	r.Usage.SetService(root.Get("service_tier"))
	r.Diagnose(root.Get("prompt_cache_diagnostics").Get("reason"))
	r.Stop = root.Get("status").Str()
	if reason := root.Get("incomplete_details").Get("reason"); reason.Kind() == rawjson.String {
		r.Stop += ": " + reason.Str()
	}
	if e := root.Get("error"); e.Kind() == rawjson.Object {
		r.Error = protocol.WrapError(e)
	} else if r.Stop == "failed" {
		r.Error = &protocol.ReplyError{Message: "the response failed",
			Raw: []byte(`{"error":{"message":"the response failed"}}`)}
	}
}
