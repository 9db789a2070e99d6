//go:build noasm || (!amd64 && !arm64)

package mat

var native []Kernels
