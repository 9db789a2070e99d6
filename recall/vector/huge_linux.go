package vector

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePages asks the system to back memory of the Go heap with huge pages when
// it is first touched: a scan of much memory in small pages takes half as long
// again. It asks for whole huge pages, also where s has only a part of one. The
// rest is more of the same heap, which grows in steps of 4 MB or more that begin
// at a multiple of their size. It is advice, so errors do not matter.
func hugePages(s []int8) {
	const huge = 2 << 20
	start := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	before := start % huge
	length := (before + uintptr(len(s)) + huge - 1) / huge * huge
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, start-before, length, unix.MADV_HUGEPAGE)
}
