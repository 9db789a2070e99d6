package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// upgrades holds the connections that switched to another protocol.
type upgrades struct {
	mu     sync.Mutex // protects what follows
	closed bool
	open   map[io.Closer]struct{}
}

// add registers a connection to be closed with the server. It returns false if the
// server is already closed.
func (u *upgrades) add(c io.Closer) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return false
	}
	if u.open == nil {
		u.open = map[io.Closer]struct{}{}
	}
	u.open[c] = struct{}{}
	return true
}

func (u *upgrades) remove(c io.Closer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, c)
}

func (u *upgrades) closeAll() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for c := range u.open {
		c.Close()
	}
}

// upgradeOf returns the protocol that a message requests or accepts.
func upgradeOf(h http.Header) string {
	if !hasToken(h["Connection"], "upgrade") {
		return ""
	}
	return h.Get("Upgrade")
}

// upgrade connects client and provider after the provider accepted another
// protocol, for as long as the client has access.
func (x *exchange) upgrade(out *http.Request, res *http.Response) {
	x.status = res.StatusCode
	defer res.Body.Close()
	asked, got := upgradeOf(out.Header), upgradeOf(res.Header)
	theirs, ok := res.Body.(io.ReadWriteCloser)
	if !ok || asked == "" || !strings.EqualFold(asked, got) {
		x.outcome, x.err = &x.s.counters.broken,
			fmt.Errorf("%w: it switched to the protocol %.40q, the client asked for %.40q", ErrUpstream, got, asked)
		x.answer(&refusal{http.StatusBadGateway, "upstream_switched",
			x.up.origin() + " switched to a protocol that was not asked for: try again"})
		return
	}
	ours, buffered, err := x.rc.Hijack()
	if err != nil {
		x.outcome, x.err = &x.s.counters.broken, fmt.Errorf("take over the connection: %w", err)
		x.answer(&refusal{http.StatusBadGateway, "upgrade_failed",
			"this connection cannot switch protocols: use HTTP/1.1"})
		return
	}
	defer x.s.connections.ended(x.r.Context())
	defer ours.Close()
	x.outcome = &x.s.counters.upgrade
	x.noteUnread() // the connection may last for days
	if !x.s.upgrades.add(ours) {
		return
	}
	defer x.s.upgrades.remove(ours)
	// The request's own context ends when the client has sent its last byte.
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.r.Context()))
	defer cancel()
	defer context.AfterFunc(ctx, func() { // the token of the client is no longer valid
		ours.Close()
		theirs.Close()
	})()
	go x.s.watchAccess(ctx, cancel, x.r.WithContext(ctx), &x.route, x.access)
	ours.SetDeadline(time.Time{})

	res.Body = nil // the header only
	if err := errors.Join(res.Write(buffered), buffered.Flush()); err != nil {
		x.err = err
		return
	}
	done := make(chan error, 2)
	go func() { done <- pump(theirs, buffered.Reader) }()
	go func() {
		n, err := copyAll(ours, theirs)
		x.out = n
		done <- err
	}()
	// One side may end before the other unless it failed.
	if err := <-done; err == nil {
		<-done
	} else {
		ours.Close()
		theirs.Close()
		<-done
	}
}

func pump(to io.Writer, from io.Reader) error {
	_, err := copyAll(to, from)
	return err
}

// copyAll copies to the end and closes the writing half.
func copyAll(to io.Writer, from io.Reader) (int64, error) {
	n, err := io.Copy(to, from)
	if err != nil {
		return n, err
	}
	half, ok := to.(interface{ CloseWrite() error })
	if !ok {
		return n, errors.New("the connection cannot be half-closed")
	}
	return n, half.CloseWrite()
}
