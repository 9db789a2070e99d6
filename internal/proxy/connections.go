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
// ones, and those of strangers. Of several tenants none holds more than are left to the
// others: whatever one does, another one's requests are admitted.
type connections struct {
	mu       sync.Mutex // protects what follows
	most     int
	open     map[net.Conn]connection
	waiting  list.List      // of connections without an admitted request; the first waits longest
	tenants  map[string]int // connections with one, also those that have switched to another protocol
	admitted int            // the sum of tenants
}

// connection is one that waits, or has a request of a tenant.
type connection struct {
	waiting *list.Element // nil for one with an admitted request
	tenant  string
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]connection{}, tenants: map[string]int{}}
}

// changed is for http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		c.forget(conn)
		c.open[conn] = connection{waiting: c.waiting.PushBack(conn)}
	case http.StateClosed:
		c.forget(conn)
	}
	for len(c.open) > c.most && c.waiting.Len() > 0 {
		oldest := c.waiting.Front().Value.(net.Conn)
		c.forget(oldest)
		oldest.Close()
	}
}

func (c *connections) forget(conn net.Conn) {
	switch e, ok := c.open[conn]; {
	case !ok:
		return
	case e.waiting != nil:
		c.waiting.Remove(e.waiting)
	default:
		c.admitted--
		if c.tenants[e.tenant]--; c.tenants[e.tenant] == 0 {
			delete(c.tenants, e.tenant)
		}
	}
	delete(c.open, conn)
}

// admit keeps the connection of a request of a tenant open until its answer ends. With
// shared, it refuses a tenant that has as many as are left.
func (c *connections) admit(ctx context.Context, tenant string, shared bool) *refusal {
	conn, _ := ctx.Value(connectionKey{}).(net.Conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.open[conn]
	if e.waiting == nil {
		return nil
	}
	if shared && c.tenants[tenant] >= c.most-c.admitted {
		return tooManyConnections
	}
	c.waiting.Remove(e.waiting)
	c.open[conn] = connection{tenant: tenant}
	c.tenants[tenant]++
	c.admitted++
	return nil
}

var tooManyConnections = &refusal{http.StatusTooManyRequests, "too_many_connections",
	"this tenant has as many requests open as this server has left for all others: wait until some have ended, or have the operator let the server open more files (ulimit -n)"}

// ended forgets the connection of a request that switched to another protocol.
func (c *connections) ended(ctx context.Context) {
	conn, _ := ctx.Value(connectionKey{}).(net.Conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
}

type connectionKey struct{}

// withConnection is for http.Server.ConnContext.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// usualConnections is how many connections may be open where files are no limit.
const usualConnections = 4096
