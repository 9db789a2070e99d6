package term

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/term"
)

// Raw has a terminal pass on every key as it is typed, until restore is called.
func Raw(in *os.File) (restore func(), err error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	return func() { term.Restore(int(in.Fd()), before) }, nil
}

// keyNames are the keys that terminals send as sequences.
var keyNames = map[string]string{
	"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\x1b[C": "right", "\x1bOC": "right",
	"\x1b[D": "left", "\x1bOD": "left",
	"\x1b[H": "home", "\x1bOH": "home", "\x1b[1~": "home", "\x1b[F": "end", "\x1bOF": "end", "\x1b[4~": "end",
	"\x1b[5~": "pgup", "\x1b[6~": "pgdown",
	"\x1b": "esc", "\r": "enter", "\n": "enter", "\x7f": "backspace", "\b": "backspace", "\x03": "ctrl+c",
	"\x04": "ctrl+c",
}

// ReadKeys reports each key that is typed, until report returns false. It reports ctrl+c for a
// terminal that is gone.
func ReadKeys(in io.Reader, report func(string) bool) {
	buffer := make([]byte, 256)
	for {
		n, err := in.Read(buffer)
		for _, k := range splitKeys(string(buffer[:n])) {
			if !report(k) {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, syscall.EINTR) {
				report("ctrl+c")
				return
			}
		}
	}
}

// splitKeys returns the keys in what a terminal sent at once. Unknown sequences are left
// out.
func splitKeys(text string) (keys []string) {
	for text != "" {
		size := 1
		switch {
		case text[0] == '\x1b' && len(text) > 2 && (text[1] == '[' || text[1] == 'O'):
			for size = 2; size < len(text) && (text[size] < '@' || text[size] > '~'); size++ {
			}
			size = min(size+1, len(text))
		case text[0] >= 0x80:
			for size < len(text) && text[size]&0xc0 == 0x80 {
				size++
			}
		}
		k := text[:size]
		text = text[size:]
		if name, ok := keyNames[k]; ok {
			keys = append(keys, name)
		} else if k[0] >= ' ' && k[0] != 0x7f {
			keys = append(keys, k)
		}
	}
	return keys
}
