package sdks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/wire"
)

const thought = "Let me look at this from all sides – 考える."

// answer returns the model's answer: what the last message asks for, or else a
// summary of the request.
func answer(r *fakemodel.Request) fakemodel.Answer {
	a := fakemodel.Answer{ID: fmt.Sprintf("reply_%d", len(r.Messages)), Input: 100, CacheRead: 20, Output: 30}
	body, tools := "", false
	for _, m := range r.Members() {
		switch m.Name {
		case "toolConfig":
			tools = true
		case "tools":
			tools = string(m.Raw) != "[]" // Ollama's SDK for Python always sends them
		case "thinking", "reasoning":
			a.Thinking = thought
		case "think":
			if string(m.Raw) == "true" {
				a.Thinking = thought
			}
		case "generationConfig", "generation_config":
			if bytes.Contains(m.Raw, []byte("thinking")) {
				a.Thinking = thought
			}
		}
	}
	last := string(r.Messages[len(r.Messages)-1].Raw)
	for i := range r.Messages {
		body += string(r.Messages[i].Raw)
	}
	first := r.Header.Get("X-Stainless-Retry-Count") == "0"
	switch {
	case strings.Contains(last, "at the limit"):
		a.ID, a.Text = "reply", "Not yet, as far as I can tell from all of it."
	case strings.Contains(last, "please fail with 400"):
		return fakemodel.Answer{Status: 400, Error: "that is no good"}
	case strings.Contains(last, "please fail with 401"):
		return fakemodel.Answer{Status: 401, Error: "who are you"}
	case strings.Contains(last, "please fail with 429"):
		return fakemodel.Answer{Status: 429, Error: "slow down"}
	case strings.Contains(last, "please fail with 500"):
		return fakemodel.Answer{Status: 500, Error: "it is on our side"}
	case strings.Contains(last, "please fail at first") && first:
		return fakemodel.Answer{Status: 503, Error: "try again"}
	// Ollama's results name no call.
	case tools && !strings.Contains(body, "call_a") && !strings.Contains(body, "rain at"):
		a.Text = "I will look in both places."
		a.Calls = []fakemodel.Call{{ID: "call_a", Name: "weather", Arguments: `{"city":"Köln","days":1}`},
			{ID: "call_b", Name: "weather", Arguments: `{"city":"Tōkyō","days":2}`}}
	default:
		a.Text = fmt.Sprintf("This is answer %d, with \"quotes\", a line\nfeed, an emoji 🙂 and <b>marks</b> & more.",
			len(r.Messages))
	}
	return a
}

// limited is the model behind Oriel. It refuses prompts of a chat that is called "too long"
// beyond its limit, and as Ollama does it answers without what exceeds options.num_ctx.
type limited struct {
	mu      sync.Mutex
	refused map[string]int // by the chat's name
}

// limit is the number of tokens that the model accepts. It counts five bytes of messages as a
// token, fewer than any prompt of text has.
const limit = 12000

var chatName = regexp.MustCompile(`\[((?:py|node) [^\]]*)\]`)

func (l *limited) answer(r *fakemodel.Request) fakemodel.Answer {
	size, name := 0, ""
	for i := range r.Messages {
		size += len(r.Messages[i].Raw)
		if found := chatName.FindSubmatch(r.Messages[i].Raw); found != nil {
			name = string(found[1])
		}
	}
	tokens := size / 5
	if strings.Contains(name, "too long") && tokens > limit {
		l.mu.Lock()
		l.refused[name]++
		l.mu.Unlock()
		return fakemodel.Answer{Status: 400, Error: fmt.Sprintf("The input token count (%d) exceeds the maximum "+
			"number of tokens allowed (%d).", tokens, limit)}
	}
	a := answer(r)
	if n := window(r); n > 0 && tokens > n {
		a.Text = fmt.Sprintf("I saw %d tokens of about %d.", n, tokens)
	}
	return a
}

// window returns options.num_ctx of a request, 0 if it does not set it.
func window(r *fakemodel.Request) int {
	if r.Format != wire.Ollama {
		return 0
	}
	var body struct {
		Options struct {
			Window int `json:"num_ctx"`
		} `json:"options"`
	}
	_ = json.Unmarshal(r.Data(), &body) // the server has read it
	return body.Options.Window
}

// check checks that each chat that is too long was refused once: the limit is known from then on.
func (l *limited) check(chats map[string]line, table func(what, result string)) {
	for _, name := range slices.Sorted(maps.Keys(chats)) {
		if !strings.Contains(name, "too long") {
			continue
		}
		result := "passed"
		if n := l.refused[name]; n != 1 {
			result = fmt.Sprintf("FAILED: the model refused %d calls", n)
		}
		table("calls sent again of "+name, result)
	}
}
