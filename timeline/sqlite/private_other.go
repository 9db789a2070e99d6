//go:build !unix

package sqlite

import "os"

// ours reports whether a file is this user's, which has no meaning here.
func ours(os.FileInfo) bool { return false }
