package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
)

// The first lines of oriel serve name the default profile and the others, and fit 80 columns.
func TestServeNamesTheProfiles(t *testing.T) {
	loaded, err := settings.Load(settings.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	printAddresses(&b, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8780}, proxy.Options{}, loaded)
	for _, want := range []string{
		"\n  profile    balanced, 100,000 tokens, and all that people wrote\n",
		"\n             --profile thrifty sends less, full more, off everything\n",
		"\n  console    http://127.0.0.1:8780/oriel/\n",
		"\nexport ANTHROPIC_BASE_URL=http://127.0.0.1:8780\n",
		"\nexport OLLAMA_HOST=http://127.0.0.1:8780\n",
		"\n  Bedrock    none (--upstream-bedrock)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("without %q:\n%s", want, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if term.Cells(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("longer than a terminal: %s", line)
		}
	}
}
