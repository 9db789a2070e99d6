package window

import (
	"cmp"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Told is what a server said of the window with which it runs a model.
type Told struct {
	// Usual is the window of a request that asks for none; 0 if the server did not say.
	Usual int
	// Most is the largest window that the model takes; 0 if the server did not say.
	Most int
}

// Served returns a model with the window that its server gives a request: what the request
// asks for, what the server says, or what servers of the protocol do without either. If none
// of them is known, it is the window of the table.
func Served(m token.Model, r *chat.Request, f wire.Format, told Told) token.Model {
	window := cmp.Or(r.Window, told.Usual, f.Protocol().Window)
	if window == 0 {
		return m
	}
	if r.Window == 0 && told.Usual > 0 && m.Known {
		window = min(window, m.Window) // a person may have set less
	}
	if told.Most > 0 {
		window = min(window, told.Most)
	}
	return m.Served(window)
}
