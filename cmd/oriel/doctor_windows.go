package main

import (
	"errors"

	"golang.org/x/sys/windows"
)

func availableMemory() (uint64, error) { return 0, errors.ErrUnsupported }

func freeDisk(dir string) (free uint64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}
