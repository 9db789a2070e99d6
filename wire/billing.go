package wire

import "bytes"

// ZeroBillingNonce returns data, a request made from b, with the changing part of
// Claude Code's billing line set to zeros. The line comes first in the system prompt,
// so a plain prefix cache finds nothing after it while it changes with every call. The
// length stays the same. Without such a line it returns data itself.
func (b *Body) ZeroBillingNonce(data []byte) []byte {
	if b.Format != Anthropic {
		return data
	}
	for i := range b.System {
		line := b.System[i].Text
		if !bytes.HasPrefix(line, []byte(`"x-anthropic-billing-header:`)) {
			continue
		}
		value := bytes.Index(line, []byte("cch="))
		at := bytes.Index(data, line)
		if value < 0 || at < 0 {
			continue
		}
		value += len("cch=")
		end := bytes.IndexAny(line[value:], `;" \`)
		if len(bytes.Trim(line[value:value+end], "0")) == 0 {
			continue
		}
		data = bytes.Clone(data)
		for k := range end {
			data[at+value+k] = '0'
		}
	}
	return data
}
