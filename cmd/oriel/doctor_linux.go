package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// availableMemory returns the memory that the system could give and this
// container may take.
func availableMemory() (uint64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/meminfo: %w", err)
			}
			return min(n*1024, leftToContainer()), nil
		}
	}
	return 0, fmt.Errorf("/proc/meminfo has no MemAvailable")
}

// leftToContainer returns what the control group may still take, or the
// largest number if it has no limit.
func leftToContainer() uint64 {
	read := func(name string) (uint64, bool) {
		raw, err := os.ReadFile("/sys/fs/cgroup/" + name)
		n, bad := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)
		return n, err == nil && bad == nil
	}
	limit, limited := read("memory.max")
	used, _ := read("memory.current")
	if !limited {
		return ^uint64(0)
	}
	return limit - min(used, limit)
}

func freeDisk(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
