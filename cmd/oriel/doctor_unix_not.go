//go:build !unix

package main

import "errors"

func fileLimit() (uint64, error) { return 0, errors.ErrUnsupported }
