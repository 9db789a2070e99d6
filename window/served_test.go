package window

import (
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// What the request asks for counts before what the server says, and that before what servers
// do without either; never more than the model takes. The table counts where nobody says
// anything.
//
// SPEC B1
func TestTheServersWindowCounts(t *testing.T) {
	table := token.Builtin().Lookup("llama-3.2")
	for _, c := range []struct {
		name  string
		f     wire.Format
		asked int
		told  Told
		want  int
	}{
		{"nothing", wire.Chat, 0, Told{}, table.Window},
		{"Ollama's default", wire.Ollama, 0, Told{}, 4096},
		{"the request", wire.Ollama, 16_384, Told{Usual: 8192}, 16_384},
		{"the server", wire.Ollama, 0, Told{Usual: 8192}, 8192},
		{"another server", wire.Chat, 0, Told{Usual: 8192}, 8192},
		{"more than the model takes", wire.Ollama, 1 << 20, Told{Most: 32_768}, 32_768},
		{"a small model", wire.Ollama, 0, Told{Most: 2048}, 2048},
		{"a table that has less", wire.Chat, 0, Told{Usual: 1 << 20}, table.Window},
		{"only the most", wire.Chat, 0, Told{Most: 2048}, table.Window},
	} {
		m := Served(table, &chat.Request{Window: c.asked}, c.f, c.told)
		if m.Window != c.want || m.WindowFor("context-1m-2025-08-07") != c.want {
			t.Errorf("%s: %d, want %d", c.name, m.Window, c.want)
		}
	}
}
