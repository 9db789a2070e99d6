package proxy

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// connections bounds the open connections, so that files remain for calls. When there are
// too many, those are closed that wait longest without a request that was admitted: idle
// ones, and those of strangers.
type connections struct {
	mu      sync.Mutex // protects what follows
	most    int
	open    map[net.Conn]*list.Element // nil while an admitted request is served
	waiting list.List                  // of the others; the first waits longest
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}}
}

// changed is for http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		c.forget(conn)
		c.open[conn] = c.waiting.PushBack(conn)
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
	for len(c.open) > c.most && c.waiting.Len() > 0 {
		oldest := c.waiting.Front().Value.(net.Conn)
		c.forget(oldest)
		oldest.Close()
	}
}

func (c *connections) forget(conn net.Conn) {
	if e := c.open[conn]; e != nil {
		c.waiting.Remove(e)
	}
	delete(c.open, conn)
}

// admit keeps the connection of a request open until its answer ends.
func (c *connections) admit(ctx context.Context) {
	conn, _ := ctx.Value(connectionKey{}).(net.Conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.open[conn]; e != nil {
		c.waiting.Remove(e)
		c.open[conn] = nil
	}
}

type connectionKey struct{}

// withConnection is for http.Server.ConnContext.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// usualConnections is how many connections may be open where files are no limit.
const usualConnections = 4096
