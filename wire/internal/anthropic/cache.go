package anthropic

import "bytes"

// cacheField has the provider choose what it caches: the prompt up to its last block.
const cacheField = `"cache_control":{"type":"ephemeral"}`

// askCache adds the field unless something in the body is marked already, or the body is for a
// cloud, which does not accept the field. A quotation mark in a text is escaped, so that a name in
// quotation marks is only found where it is a name or a whole text.
func askCache(body []byte) []byte {
	brace := bytes.IndexByte(body, '{')
	if brace < 0 || bytes.Contains(body, []byte(`"cache_control"`)) ||
		bytes.Contains(body, []byte(`"anthropic_version"`)) {
		return body
	}
	out := make([]byte, 0, len(body)+len(cacheField)+1)
	out = append(append(out, body[:brace+1]...), cacheField...)
	return append(append(out, ','), body[brace+1:]...)
}
