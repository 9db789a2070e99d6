package wire

import (
	"sync"
	"testing"
)

// AddForTest adds a row to the table of protocols until the test ends.
func AddForTest(t *testing.T, p *Protocol) Format {
	f := Format(len(protocols))
	protocols = append(protocols, p)
	sentences = sync.OnceValue(compileSentences)
	t.Cleanup(func() {
		protocols = protocols[:f]
		sentences = sync.OnceValue(compileSentences)
	})
	return f
}
