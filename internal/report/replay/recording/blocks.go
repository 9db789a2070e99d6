package recording

import (
	"bytes"
	"errors"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// Block is one content block of a message of Anthropic's.
type Block struct {
	// Kind is its type, Raw the bytes of the recording.
	Kind string
	Raw  []byte
	// Tool is the name of the tool that it calls.
	Tool string

	said bool // something other than white space and thinking
}

// errContent reports a message whose content is neither a text nor a list of blocks.
var errContent = errors.New("content: want a text or a list of blocks")

// maxContent is the largest content in bytes; importer accepts no longer line.
const maxContent = 256 << 20

// Blocks splits a content into blocks; a string is one text block, or none if it is empty.
func Blocks(content []byte) ([]Block, error) {
	v, err := rawjson.ParseLenient(content, maxContent)
	if err != nil {
		return nil, errContent
	}
	if v.Kind() == rawjson.String {
		text := v.Str()
		if text == "" {
			return nil, nil
		}
		raw := concat(`{"type":"text","text":`, content, `}`)
		return []Block{{Kind: "text", Raw: raw, said: strings.TrimSpace(text) != ""}}, nil
	}
	if v.Kind() != rawjson.Array {
		return nil, errContent
	}
	var blocks []Block
	for e := range v.Elems() {
		if e.Kind() != rawjson.Object {
			return nil, errContent
		}
		one := Block{Kind: e.Get("type").Str(), Raw: e.Raw(), said: true}
		switch one.Kind {
		case "text":
			one.said = strings.TrimSpace(e.Get("text").Str()) != ""
		case "thinking", "redacted_thinking":
			one.said = false
		case "tool_use":
			one.Tool = e.Get("name").Str()
		}
		blocks = append(blocks, one)
	}
	return blocks, nil
}

// spoken writes a message of blocks.
func spoken(role string, blocks [][]byte) []byte {
	return concat(`{"role":"`+role+`","content":[`, bytes.Join(blocks, []byte{','}), `]}`)
}

func concat(before string, middle []byte, after string) []byte {
	b := make([]byte, 0, len(before)+len(middle)+len(after))
	b = append(append(b, before...), middle...)
	return append(b, after...)
}

func isString(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '"'
}
