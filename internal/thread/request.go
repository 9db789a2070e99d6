package thread

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// Request is what is known about a call when it arrives.
type Request struct {
	Tenant string
	Hints  Hints
	Sketch PromptSketch
	// Previous is the provider's id of the reply that the request continues
	// from, if the provider holds what came before it. Held reports that the
	// provider holds what was said in the session before.
	Previous string
	Held     bool
	// Retry reports that the client says that it sends this again.
	Retry bool
	// Offline means that the store is not read: only what is in memory is
	// known.
	Offline bool
	// Messages are the messages of the history, with their bytes; see Chain.
	Messages []chat.Message
	// Compacts reports that a field of the request asks for the summary that replaces the
	// history.
	Compacts bool
	Now      time.Time

	anybody bool // search all namespaces, for Peek

	// Results computed from the messages, all but sizes without a lock: hashes of
	// their bytes, their identities (zero until needed) and, for some,
	// identities of earlier versions and hashes of stored forms; whether they
	// are replies in other words, which replies they share something with, and
	// whether Oriel has replaced something in them.
	hashes     []uint64
	identities []timeline.Hash
	cores      []uint64 // see step.core
	// bare has the identities of the user's messages without the texts in them that look like
	// Oriel's, and bareCores their step.core. A view that comes back is known by them.
	bare      map[int]timeline.Hash
	bareCores map[int]uint64
	apart     map[int]timeline.Hash
	forms     map[int]timeline.Hash
	same      map[echo]bool
	related   map[echo]bool
	replaced  map[int]bool
	sizes     map[int]int  // see textSize
	echoed    map[int]bool // see step.echoed
	// replied is the result of old, if counted.
	replied int
	counted bool
	// compacts reports that it asks for the summary that replaces the history.
	compacts bool
	// changedReply is the branch whose last reply the client has changed; see byChangedReply.
	changedReply *branch
}

// echo is a message of a request that may be a reply.
type echo struct {
	reply *chat.Message
	i     int
}

// prepare hashes the bytes of all messages. For the known part of a history
// nothing else is computed. The hashes are valid in this process only.
func (r *Request) prepare() {
	if r.hashes != nil {
		return
	}
	r.compacts = r.Compacts || chat.AsksForSummary(r.Messages)
	r.hashes = make([]uint64, len(r.Messages))
	for i := range r.Messages {
		r.hashes[i] = r.Messages[i].Summed()
	}
	r.identities = make([]timeline.Hash, len(r.Messages))
	r.cores = make([]uint64, len(r.Messages))
	r.apart, r.forms, r.replaced = map[int]timeline.Hash{}, map[int]timeline.Hash{}, map[int]bool{}
	r.same, r.related, r.sizes, r.echoed = map[echo]bool{}, map[echo]bool{}, map[int]int{}, map[int]bool{}
	r.bare, r.bareCores = map[int]timeline.Hash{}, map[int]uint64{}
	r.identify(0, 1)
}

// identify computes the identities of messages i to to.
func (r *Request) identify(i, to int) {
	for ; i < min(to, len(r.Messages)); i++ {
		if r.identities[i] == (timeline.Hash{}) {
			r.identities[i] = timeline.Identity(&r.Messages[i])
			r.cores[i] = core(&r.Messages[i], r.identities[i])
			if bare, ok := r.withoutInserted(i); ok {
				r.bare[i] = timeline.Identity(&bare)
				r.bareCores[i] = core(&bare, r.bare[i])
			}
		}
	}
}

// old returns the number of messages up to a model's last one. Those behind it come from
// the client: they are new, and nothing in them is of a view that comes back.
func (r *Request) old() (n int) {
	if r.counted {
		return r.replied
	}
	for n = len(r.Messages); n > 0 && r.Messages[n-1].Role != chat.Assistant; n-- {
	}
	r.replied, r.counted = n, true
	return n
}

// withoutInserted returns message i without the texts that look like Oriel's, or false if it is
// not a user's, is new, has none, or nothing else. Such a text in an older message may be of a
// view that comes back: the message is the same as one without, and another one than one with
// other texts.
func (r *Request) withoutInserted(i int) (chat.Message, bool) {
	if i >= r.old() || r.Messages[i].Role != chat.User {
		return chat.Message{}, false
	}
	m := &r.Messages[i]
	rest := *m
	rest.Parts = nil
	for i := range m.Parts {
		if !m.Parts[i].Inserted() {
			rest.Parts = append(rest.Parts, m.Parts[i])
		}
	}
	return rest, 0 < len(rest.Parts) && len(rest.Parts) < len(m.Parts)
}

// unidentified returns the first message from i on whose identity is not
// computed, or the number of messages.
func (r *Request) unidentified(i int) int {
	for i < len(r.identities) && r.identities[i] != (timeline.Hash{}) {
		i++
	}
	return i
}

// step returns message i in the form of the tree.
func (r *Request) step(i int) step {
	return step{bytes: r.hashes[i], identity: r.identities[i], core: r.cores[i],
		assistant: r.Messages[i].Role == chat.Assistant, thought: thought(&r.Messages[i]), echoed: r.echoed[i]}
}

// thought reports whether a message is reasoning alone.
func thought(m *chat.Message) bool {
	return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind != chat.Thinking })
}

// core returns the step.core of a message with an identity.
func core(m *chat.Message, says timeline.Hash) uint64 {
	var parts []chat.Part
	for i := range m.Parts {
		if m.Parts[i].Kind != chat.Text {
			continue
		}
		text := m.Parts[i].Text.String()
		if short := strings.TrimSpace(text); short != "" && short != text {
			if parts == nil {
				parts = slices.Clone(m.Parts)
			}
			parts[i].Text = chat.Quote(short)
		}
	}
	if parts == nil {
		return coreOf(says)
	}
	bare := *m
	bare.Parts = parts
	return coreOf(timeline.Identity(&bare))
}

// coreOf returns the step.core of a message that has no white space to drop.
func coreOf(says timeline.Hash) uint64 { return binary.LittleEndian.Uint64(says[:]) }

// steps returns the messages from i on in the form of the tree.
func (r *Request) steps(i int) []step {
	out := make([]step, 0, len(r.Messages)-i)
	for ; i < len(r.Messages); i++ {
		out = append(out, r.step(i))
	}
	return out
}

// answered reports whether a reply is among the request's messages.
func (r *Request) answered() bool {
	for i := range r.Messages {
		if r.Messages[i].Role == chat.Assistant {
			return true
		}
	}
	return false
}

// Chain separates the leading system messages of a request, which are not part
// of its history, from the rest. If there is nothing else, they are the
// history.
func Chain(messages []chat.Message) (system, history []chat.Message) {
	for i := range messages {
		if role := messages[i].Role; role != chat.System && role != chat.Developer {
			return messages[:i], messages[i:]
		}
	}
	return nil, messages
}

// Prompt returns the system prompt of a request, wherever its protocol puts
// it.
func Prompt(r *chat.Request) []chat.Part {
	system, _ := Chain(r.Messages)
	if len(system) == 0 {
		return r.System
	}
	all := append([]chat.Part(nil), r.System...)
	for i := range system {
		all = append(all, system[i].Parts...)
	}
	return all
}

// Hints are what a client says about itself besides its history.
type Hints struct {
	// Session names one session of an agent, or one chat; it is empty if the
	// client does not name one. It becomes the name of the conversation.
	Session string
	// User names a user who may have many sessions, Group something that
	// several users may have in common.
	User, Group string
}

// HeaderConversation is the request header by which a client names a conversation.
const HeaderConversation = "X-Oriel-Conversation"

// sessionHeaders are the request headers by which agents name their sessions:
// opencode and Kilo, Goose, Pi.
var sessionHeaders = []string{"X-Session-Id", "X-Session-Affinity", "Agent-Session-Id", "Session_id"}

// HintsOf returns the hints of a call.
func HintsOf(h http.Header, f wire.Hints) Hints {
	out := Hints{User: short(f.User)}
	session, user := sessionOf(f.UserID)
	if user != "" {
		out.User = short(user)
	}
	key := f.CacheKey
	if !uuid.MatchString(key) { // shared by many users, as its vendor intends
		out.Group, key = short(key), ""
	}
	names := []string{h.Get(HeaderConversation), session, f.Conversation, key}
	for _, name := range sessionHeaders {
		names = append(names, h.Get(name))
	}
	for _, name := range names {
		if usable(name) {
			out.Session = strings.Clone(name) // clone, because it may be part of a long text
			break
		}
	}
	return out
}

// short returns a name, or its hash if it is long.
func short(name string) string {
	if len(name) <= clip.Name {
		return name
	}
	return timeline.HashOf([]byte(name)).String()
}

// uuid matches the form in which agents name their sessions.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// sessionOf parses Anthropic's metadata.user_id, in which Claude Code sends
// its session: a JSON object or, in earlier versions, a text that ends with
// it.
func sessionOf(id string) (session, user string) {
	var fields struct {
		Session string `json:"session_id"`
	}
	if strings.HasPrefix(id, "{") && json.Unmarshal([]byte(id), &fields) == nil && fields.Session != "" {
		return fields.Session, ""
	}
	if m := oldSession.FindStringSubmatch(id); m != nil {
		return m[1], ""
	}
	return "", id
}

var oldSession = regexp.MustCompile(`_session_([0-9a-f-]{36})$`)

// usable reports whether a name can be the name of a conversation and can be
// typed.
func usable(name string) bool {
	if name == "" || len(name) > 200 {
		return false
	}
	for _, r := range name {
		if unicode.IsControl(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar {
			return false
		}
	}
	return true
}

// space is the namespace of a request: a hash, from which nothing can be read
// back.
type space timeline.Hash

func (h *Hints) space() space {
	if *h == (Hints{}) {
		return space{}
	}
	return space(timeline.HashOf(fmt.Appendf(nil, "%q %q %q", h.Session, h.User, h.Group)))
}
