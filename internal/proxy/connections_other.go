//go:build !unix

package proxy

func mostConnections() int { return usualConnections }
