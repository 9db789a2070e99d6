package wire

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// cacheControl is the member with which a part marks the end of what to cache.
const cacheControl = "cache_control"

// StripCacheMarks returns the raw message without the cache marks of its parts and of
// their content, and the last mark: the value of cache_control. Without marks it returns
// raw itself, and nil.
func StripCacheMarks(f Format, raw []byte) (bare, mark []byte, err error) {
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
			e.remove(part, cacheControl)
		}
	}
	for part := range e.root.Get("content").Elems() {
		if content := part.Get("content"); content.Kind() == rawjson.Array { // a result's
			for inner := range content.Elems() {
				take(inner)
			}
		}
		take(part)
	}
	if len(e.changes) == 0 {
		return raw, nil, nil
	}
	slices.SortFunc(e.changes, func(a, b change) int { return a.start - b.start })
	return e.apply(), mark, nil
}

// PutMark returns the raw message with a cache mark on its last part that accepts one;
// thinking does not. If no part does, it returns raw and false.
func PutMark(f Format, raw, mark []byte) ([]byte, bool, error) {
	e, err := open(f, raw)
	if err != nil {
		return nil, false, err
	}
	content := e.root.Get("content")
	if content.Kind() == rawjson.String && !chat.String(content.Raw()).Empty() {
		part := e.textPart(content.Raw())
		part = append(append(part[:len(part)-1], `,"`+cacheControl+`":`...), mark...)
		e.set(e.root, "content", append(append([]byte{'['}, part...), '}', ']'))
		return e.apply(), true, nil
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
	e.set(last, cacheControl, mark)
	return e.apply(), true, nil
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

// remove deletes all members with a name from an object, each with its comma.
func (e *edit) remove(parent rawjson.Value, name string) {
	type pair struct{ start, end int }
	var all []pair
	var gone []bool
	for k, v := range parent.Members() {
		start, _ := k.Span()
		_, end := v.Span()
		all = append(all, pair{start, end})
		gone = append(gone, string(protocol.Key(k)) == name)
	}
	kept := false // an earlier member stays
	for i := range all {
		switch {
		case !gone[i]:
			kept = true
		case kept:
			e.changes = append(e.changes, change{span: span{all[i-1].end, all[i].end}})
		case i+1 < len(all):
			e.changes = append(e.changes, change{span: span{all[i].start, all[i+1].start}})
		default:
			e.changes = append(e.changes, change{span: span{all[i].start, all[i].end}})
		}
	}
}
