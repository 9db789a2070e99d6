package vector

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePages asks the system to back memory of the Go heap with huge pages when
// it is first touched: scanning much memory in small pages takes half as long
// again. It asks for whole huge pages, even if s covers only part of one. The
// rest belongs to the same heap, which grows in aligned steps of 4 MB or more.
// Errors do not matter, because it is only advice.
func hugePages(s []int8) {
	const huge = 2 << 20
	start := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	before := start % huge
	length := (before + uintptr(len(s)) + huge - 1) / huge * huge
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, start-before, length, unix.MADV_HUGEPAGE)
}
