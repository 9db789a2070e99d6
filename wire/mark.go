package wire

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// cacheControl is the member with which a part marks the end of what to cache.
const cacheControl = "cache_control"

// WithoutCacheMarks returns the raw message without the cache marks of its parts and of
// their content, and the last mark: the value of cache_control. Without marks it returns
// raw itself, and nil.
func WithoutCacheMarks(f Format, raw []byte) (bare, mark []byte, err error) {
	e, err := open(f, raw)
	if err != nil {
		return nil, nil, err
	}
	take := func(part rawjson.Value) {
		if part.Kind() != rawjson.Object {
			return
		}
		if v := part.Get(cacheControl); v.Exists() {
			if v.Kind() == rawjson.Object {
				mark = v.Raw()
			}
			e.Remove(part, cacheControl)
		}
	}
	for part := range e.Content().Elems() {
		if content := part.Get("content"); content.Kind() == rawjson.Array { // a result's
			for inner := range content.Elems() {
				take(inner)
			}
		}
		take(part)
	}
	if !e.Changed() {
		return raw, nil, nil
	}
	return e.Apply(), mark, nil
}

// PutMark returns the raw message with a cache mark on its last part that accepts one;
// thinking does not. If no part does, it returns raw and false.
func PutMark(f Format, raw, mark []byte) ([]byte, bool, error) {
	e, err := open(f, raw)
	if err != nil {
		return nil, false, err
	}
	p, content := f.Protocol(), e.Content()
	if p.Joint != "" {
		return raw, false, nil
	}
	if content.Kind() == rawjson.String && !chat.String(content.Raw()).Empty() {
		part := textPart(p, e.Message.Role, content.Raw())
		part = append(append(part[:len(part)-1], `,"`+cacheControl+`":`...), mark...)
		e.Set(e.Root, p.Content, append(append([]byte{'['}, part...), '}', ']'))
		return e.Apply(), true, nil
	}
	var last rawjson.Value
	for part := range content.Elems() {
		if part.Kind() == rawjson.Object && takesMark(part) {
			last = part
		}
	}
	if !last.Exists() {
		return raw, false, nil
	}
	e.Set(last, cacheControl, mark)
	return e.Apply(), true, nil
}

// takesMark reports whether a provider accepts a cache mark on a part.
func takesMark(part rawjson.Value) bool {
	switch t := part.Get("type"); {
	case t.EqualStr("thinking"), t.EqualStr("redacted_thinking"):
		return false
	case t.EqualStr("text"):
		return !chat.String(part.Get("text").Raw()).Empty()
	}
	return true
}
