package wire

import "github.com/oriel-context/oriel/chat"

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

// PathModel returns the model that the path of a call names, or "" if the body does.
func PathModel(f Format, path string) string {
	var r chat.Request
	if read := f.Protocol().FromPath; read != nil {
		read(&r, path)
	}
	return r.Model
}
