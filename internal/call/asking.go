package call

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
)

// asked remembers which conversations called Oriel's own tools last, so that a tool that an
// agent runs knows whose it is: the agent does not tell.
type asked struct {
	mu sync.Mutex // protects what follows
	// calls are the last calls of tools, the newest last.
	calls []askedCall
	// newest is, for each tenant, the conversation of the last request that had the
	// tools.
	newest map[string]string
	// more is closed and replaced when a call is added.
	more chan struct{}
}

// askedCall is a call of a tool that a model made.
type askedCall struct {
	tenant, conversation string
	tool                 string
	arguments            string // in one form
}

const (
	// maxAsked is the number of remembered tool calls, maxNewest that of remembered
	// tenants.
	maxAsked, maxNewest = 256, 1024
	// maxArguments is the size in bytes of the longest arguments that are remembered.
	maxArguments = 16 << 10
)

// request notes that a request of a conversation has the tools.
func (a *asked) request(tenant, conversation string, tools []chat.ToolDef) {
	if prompt.FindTool(tools, prompt.ToolRecall) == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.newest == nil || len(a.newest) >= maxNewest && a.newest[tenant] == "" {
		a.newest = map[string]string{}
	}
	a.newest[tenant] = conversation
}

// reply notes the calls of a reply.
func (a *asked) reply(tenant, conversation string, messages []chat.Message) {
	for i := range messages {
		for k := range messages[i].Parts {
			p := &messages[i].Parts[k]
			if p.Kind != chat.Call {
				continue
			}
			if tool := prompt.OwnCall(p); tool != "" && len(p.Args) <= maxArguments {
				a.add(askedCall{tenant, conversation, tool, oneForm([]byte(p.Arguments()))})
			}
		}
	}
}

func (a *asked) add(c askedCall) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.calls) >= maxAsked {
		a.calls = append(a.calls[:0], a.calls[maxAsked/2:]...)
	}
	a.calls = append(a.calls, c)
	if a.more != nil {
		close(a.more)
		a.more = nil
	}
}

// oldest returns the conversation of the oldest call that is not yet answered, and removes the
// call. If there is none, more is closed when another comes.
func (a *asked) oldest(tenant, tool, arguments string) (conversation string, more <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.calls {
		if c := &a.calls[i]; c.tenant == tenant && c.tool == tool && c.arguments == arguments {
			conversation = c.conversation
			a.calls = append(a.calls[:i], a.calls[i+1:]...)
			return conversation, nil
		}
	}
	if a.more == nil {
		a.more = make(chan struct{})
	}
	return "", a.more
}

// oneForm returns JSON text in a form that does not depend on white space, on the order of
// members and on escapes.
func oneForm(text []byte) string {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return "{}"
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(text)
	}
	return string(out)
}

// ToolCaller returns the conversation whose model called one of Oriel's tools with these
// arguments, if the call came through this engine; sure is false if it is only the
// conversation of the last request that had the tools. It returns "" if there is none. All of
// the conversation up to the call is stored when ToolCaller returns, as far as that takes no
// longer than ctx.
func (r *Engine) ToolCaller(ctx context.Context, tenant, tool string,
	arguments []byte) (conversation string, sure bool) {
	a := &r.asked
	form := ""
	if len(arguments) <= maxArguments {
		form = oneForm(arguments)
	}
	a.mu.Lock()
	newest := a.newest[tenant]
	a.mu.Unlock()
	if newest == "" {
		return "", false // no request had the tools
	}
	end := time.NewTimer(askedWait)
	defer end.Stop()
	for conversation == "" && form != "" {
		found, more := a.oldest(tenant, tool, form)
		if conversation, sure = found, found != ""; sure {
			break
		}
		select {
		case <-more:
			continue
		case <-end.C:
		case <-ctx.Done():
		}
		break
	}
	if conversation == "" {
		conversation = newest
	}
	r.queue.waitKey(ctx, queueKey(tenant, conversation)) // an error means that it is not all stored
	return conversation, sure
}
