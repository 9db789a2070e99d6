package protocol

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// Joined reads a content that is a string or null: one text, or several where Oriel has added
// texts with joint.
func (r *Reader) Joined(v rawjson.Value, joint string) ([]chat.Part, error) {
	if v.Kind() != rawjson.String {
		return nil, nil
	}
	texts := SplitTexts(v.Raw(), joint)
	parts, err := r.Take(v, len(texts))
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		parts[i] = chat.Part{Kind: chat.Text, Text: text}
	}
	return parts, nil
}

// SplitTexts returns the literals of the texts of a literal. It divides where joint stands beside
// a text of Oriel's, and nowhere else.
func SplitTexts(literal []byte, joint string) []chat.String {
	if !bytes.Contains(literal, []byte(joint)) || !bytes.Contains(literal, []byte(chat.Mark)) {
		return []chat.String{literal}
	}
	var texts []chat.String
	var last []byte // the text that is not complete yet
	begun, own := false, false
	for text := range bytes.SplitSeq(literal[1:len(literal)-1], []byte(joint)) {
		was := own
		own = bytes.HasPrefix(text, []byte(chat.Mark))
		switch {
		case !begun:
			last, begun = text, true
		case was || own:
			texts = append(texts, AppendQuoted(nil, last))
			last = text
		default:
			last = slices.Concat(last, []byte(joint), text)
		}
	}
	return append(texts, AppendQuoted(nil, last))
}

// WithoutJoint returns a text that cannot be divided by joint.
func WithoutJoint(text, joint string) string {
	separator, _ := utf8.DecodeRuneInString(joint)
	return strings.ReplaceAll(text, string(separator), "")
}

// JoinTexts returns the literal that SplitTexts splits into texts. Empty ones are left out.
func JoinTexts(texts []chat.String, joint string) []byte {
	out := []byte{'"'}
	for _, text := range texts {
		if text.Empty() {
			continue
		}
		if len(out) > 1 {
			out = append(out, joint...)
		}
		out = append(out, text[1:len(text)-1]...)
	}
	return append(out, '"')
}

// Texts returns the literals of the content's texts, if that is always a string.
func (e *Edit) Texts() []chat.String {
	if content := e.Content(); e.p.Joint != "" && content.Kind() == rawjson.String {
		return SplitTexts(content.Raw(), e.p.Joint)
	}
	return nil
}

// SetTexts gives the message a content of texts.
func (e *Edit) SetTexts(texts []chat.String) {
	e.Set(e.Root, e.p.Content, JoinTexts(texts, e.p.Joint))
}
