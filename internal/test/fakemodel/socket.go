package fakemodel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel/wire"
)

// socket is a connection of Responses over WebSocket, as OpenAI describes it: the client sends
// response.create with the members of a body, and what it continues is held by the connection
// alone. A call that fails makes the response that it continues unknown. Responses of different
// lanes (stream_id) run at the same time, those of one lane one after another.
type socket struct {
	server *Server
	conn   *websocket.Conn
	header http.Header
	path   string

	mu        sync.Mutex // protects what follows
	held      map[string][]json.RawMessage
	cancelled map[string]chan struct{} // by lane: closed by response.cancel
	lanes     map[string]*sync.Mutex
}

// serveSocket serves a connection until its client closes it.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(256 << 20)
	c := &socket{server: s, conn: conn, header: r.Header, path: r.URL.Path, held: map[string][]json.RawMessage{},
		cancelled: map[string]chan struct{}{}, lanes: map[string]*sync.Mutex{}}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	for {
		kind, raw, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if s.Frame != nil {
			s.Frame(raw)
		}
		var f frame
		if kind != websocket.MessageText || json.Unmarshal(raw, &f) != nil {
			c.fail(ctx, "", http.StatusBadRequest, "invalid_json", "the message is not JSON")
			continue
		}
		switch f.Type {
		case "response.create":
			c.mu.Lock()
			lane := c.lanes[f.Stream]
			if lane == nil {
				lane = &sync.Mutex{}
				c.lanes[f.Stream] = lane
			}
			stop := make(chan struct{})
			c.cancelled[f.Stream] = stop
			c.mu.Unlock()
			started := make(chan struct{})
			running.Go(func() {
				lane.Lock()
				defer lane.Unlock()
				close(started)
				c.create(ctx, &f, raw, stop)
			})
			<-started
		case "response.cancel":
			c.mu.Lock()
			if stop := c.cancelled[f.Stream]; stop != nil {
				close(stop)
				delete(c.cancelled, f.Stream)
			}
			c.mu.Unlock()
		default:
			c.fail(ctx, f.Stream, http.StatusBadRequest, "unknown_event", "unknown event "+f.Type)
		}
	}
}

// frame has the members of a message that no body has, and what it continues.
type frame struct {
	Type     string          `json:"type"`
	Stream   string          `json:"stream_id"`
	Previous string          `json:"previous_response_id"`
	Generate *bool           `json:"generate"`
	Input    json.RawMessage `json:"input"`
}

// create answers one call.
func (c *socket) create(ctx context.Context, f *frame, raw []byte, stop chan struct{}) {
	body, input, err := c.whole(f, raw)
	if err != nil {
		c.fail(ctx, f.Stream, http.StatusBadRequest, "previous_response_not_found", err.Error())
		return
	}
	read, err := wire.Read(body, wire.Responses, wire.Limits{})
	if err != nil {
		c.refuse(ctx, f, err.Error())
		return
	}
	if !c.server.Unchecked {
		if p := models[wire.Responses].judge(body); len(p) > 0 {
			c.refuse(ctx, f, fmt.Sprint(p))
			return
		}
	}
	a := Answer{}
	if f.Generate == nil || *f.Generate {
		a = c.server.Answer(&Request{Body: read, Header: c.header, Path: c.path})
	} else if c.server.Prepared != nil {
		a = c.server.Prepared(&Request{Body: read, Header: c.header, Path: c.path})
	}
	if a.Status != 0 {
		c.forget(f.Previous)
		c.fail(ctx, f.Stream, a.Status, "", a.Error)
		return
	}
	if a.ID == "" {
		c.server.mu.Lock()
		c.server.made++
		a.ID = fmt.Sprintf("resp_%d", c.server.made)
		c.server.mu.Unlock()
	}
	reply := models[wire.Responses].reply(read, &a)
	// It is known before its end is: the client may continue it at once.
	output, _ := json.Marshal(reply.whole["output"])
	var items []json.RawMessage
	json.Unmarshal(output, &items)
	c.mu.Lock()
	c.held[a.ID] = append(input[:len(input):len(input)], items...)
	c.mu.Unlock()
	for i, e := range reply.events {
		if a.Cut > 0 && i == a.Cut {
			c.conn.CloseNow()
			return
		}
		select {
		case <-stop:
			whole := reply.whole
			whole["status"], whole["output"] = "incomplete", []any{}
			whole["incomplete_details"] = object{"reason": "cancelled"}
			c.forget(a.ID)
			c.send(ctx, f.Stream, object{"type": "response.incomplete", "sequence_number": i, "response": whole})
			return
		default:
		}
		c.send(ctx, f.Stream, e.data.(object))
		if a.Each != nil {
			a.Each(i)
		}
	}
}

// whole returns the body that a message means, and the items of its input.
func (c *socket) whole(f *frame, raw []byte) (body []byte, input []json.RawMessage, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, nil, err
	}
	if f.Previous != "" {
		c.mu.Lock()
		held, ok := c.held[f.Previous]
		c.mu.Unlock()
		if !ok {
			return nil, nil, refusal(fmt.Sprintf("Previous response with id '%s' not found.", f.Previous))
		}
		input = held
	}
	var fresh []json.RawMessage
	if json.Unmarshal(f.Input, &fresh) != nil && len(f.Input) > 0 {
		fresh = []json.RawMessage{append(append([]byte(`{"role":"user","content":`), f.Input...), '}')}
	}
	input = append(input[:len(input):len(input)], fresh...)
	for _, name := range []string{"type", "stream_id", "generate", "previous_response_id"} {
		delete(members, name)
	}
	if members["input"], err = json.Marshal(input); err != nil {
		return nil, nil, err
	}
	body, err = json.Marshal(members)
	return body, input, err
}

func (c *socket) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, id)
}

func (c *socket) refuse(ctx context.Context, f *frame, why string) {
	c.server.mu.Lock()
	c.server.problems = append(c.server.problems, why)
	c.server.mu.Unlock()
	c.forget(f.Previous)
	c.fail(ctx, f.Stream, http.StatusBadRequest, "", why)
}

// fail sends an error as the vendor does over a WebSocket.
func (c *socket) fail(ctx context.Context, stream string, status int, code, message string) {
	failure := models[wire.Responses].failure(message)
	if code != "" {
		failure["error"].(object)["code"] = code
	}
	failure["type"], failure["status"] = "error", status
	c.send(ctx, stream, failure)
}

func (c *socket) send(ctx context.Context, stream string, event object) {
	if stream != "" {
		event["stream_id"] = stream
	}
	data, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	c.conn.Write(ctx, websocket.MessageText, bytes.TrimSpace(data))
}

// refusal is an error in the vendor's words.
type refusal string

func (r refusal) Error() string { return string(r) }
