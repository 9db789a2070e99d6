//go:build !amd64 || noasm

package rawjson

// There are no kernels here: the scalar parser does it all.
var (
	available []*kernel
	lacking   []string
)
