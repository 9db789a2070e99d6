package freeport

import (
	"fmt"
	"net"
	"testing"
)

func TestAFoundPortIsFree(t *testing.T) {
	port, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
