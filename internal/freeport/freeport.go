// Package freeport finds ports for programs that tests start.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Find returns a port of the loopback address that nobody listens at. It is below those
// that systems give to whoever asks for any port, so that no other program gets it before
// the one that it is for.
func Find() (int, error) {
	for range 1000 {
		port := 10_000 + rand.N(20_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no port is free")
}
