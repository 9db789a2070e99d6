package wire

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// CallFormat returns the format of a call by the path that it is posted to: with /v1,
// without it, or behind a provider's own prefix. It returns Auto for any other path.
func CallFormat(path string) Format {
	for i, p := range protocols {
		if p.IsProtocol() && p.IsCall(path) {
			return Format(i)
		}
	}
	return Auto
}

// CountFormat returns the format of a request that asks only how many tokens a call would
// have, by its path. It returns Auto for any other path.
func CountFormat(path string) Format {
	for i, p := range protocols {
		if p.IsCount != nil && p.IsCount(path) {
			return Format(i)
		}
	}
	return Auto
}

// Counted returns where in a request that only counts a call's tokens the body of the call is: in
// some protocols it may be a member. Otherwise, and if the request cannot be read, it is the whole.
func Counted(f Format, data []byte) (start, end int) {
	start, end = 0, len(data)
	names := f.Protocol().CountIn
	if len(names) == 0 {
		return start, end
	}
	_ = parse(data, Limits{}, func(root rawjson.Value) error { // Read says what is wrong
		for _, name := range names {
			if v := root.Get(name); v.Kind() == rawjson.Object {
				start, end = v.Span()
			}
		}
		return nil
	})
	return start, end
}

// PathModel returns the model that the path of a call names, or "" if the body does.
func PathModel(f Format, path string) string {
	var r chat.Request
	if read := f.Protocol().FromPath; read != nil {
		read(&r, path)
	}
	return r.Model
}
