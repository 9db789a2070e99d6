package term

import (
	"strings"
	"testing"
)

func TestKeysOfATerminal(t *testing.T) {
	got := strings.Join(splitKeys("a\x1b[A\x1bOB\x1b[5~\x1b[1;5C\x1b\r\x7f\x03é\x01日"), " ")
	if want := "a up down pgup esc enter backspace ctrl+c é 日"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if k := splitKeys("\x1b["); len(k) > 2 {
		t.Errorf("%q", k)
	}
}

func TestATerminalThatIsGoneInterrupts(t *testing.T) {
	var keys []string
	ReadKeys(strings.NewReader("a\x1b[A"), func(k string) bool {
		keys = append(keys, k)
		return true
	})
	if got := strings.Join(keys, " "); got != "a up ctrl+c" {
		t.Errorf("%q", got)
	}
}
