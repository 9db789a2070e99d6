//go:build !linux && !darwin && !windows

package main

import "errors"

func availableMemory() (uint64, error) { return 0, errors.ErrUnsupported }

func freeDisk(string) (uint64, error) { return 0, errors.ErrUnsupported }
