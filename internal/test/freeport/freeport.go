// Package freeport finds ports for programs that tests start.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Find returns a free port of the loopback address. It is below the range from
// which systems assign arbitrary ports, so that no other program takes it
// first.
func Find() (int, error) {
	for range 1000 {
		port := 10_000 + rand.N(20_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no port is free")
}
