//go:build !linux

package vector

func hugePages([]int8) {}
