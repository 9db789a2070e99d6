package access

// RememberedForTest returns how many unknown tokens are remembered.
func RememberedForTest(t *Tokens) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.unknown)
}
