package anthropic

import (
	"bytes"

	"github.com/oriel-context/oriel/chat"
)

// steady sets the changing part of Claude Code's billing line to zeros. The line
// comes first in the system prompt.
func steady(r *chat.Request, body []byte) []byte {
	for i := range r.System {
		line := r.System[i].Text
		if !bytes.HasPrefix(line, []byte(`"x-anthropic-billing-header:`)) {
			continue
		}
		value := bytes.Index(line, []byte("cch="))
		at := bytes.Index(body, line)
		if value < 0 || at < 0 {
			continue
		}
		value += len("cch=")
		end := bytes.IndexAny(line[value:], `;" \`)
		if len(bytes.Trim(line[value:value+end], "0")) == 0 {
			continue
		}
		body = bytes.Clone(body)
		for k := range end {
			body[at+value+k] = '0'
		}
	}
	return body
}
