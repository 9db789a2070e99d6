package importer

import "testing"

// SetMaxLine makes shorter lines too long during a test.
func SetMaxLine(t *testing.T, n int) {
	was := maxLine
	maxLine = n
	t.Cleanup(func() { maxLine = was })
}
