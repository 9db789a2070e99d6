package recall

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/internal/keyword"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/internal/vector"
	"github.com/oriel-context/oriel/token"
)

// Options configures a scope.
type Options struct {
	// Model makes the vectors. If it is nil, searches go by words alone.
	Model embed.Model
	// Count counts the tokens of a text. Default: o200k_base.
	Count func(string) int
	// Weights are the constants of the score. nil means DefaultWeights.
	Weights *Weights
}

// A Scope is an index over the messages of one or several conversations. It is
// safe for concurrent use.
type Scope struct {
	o       Options
	weights Weights
	count   func(string) int
	queries embed.Model // embeds queries: Options.Model, or a cache in front of it
	asking  limit.Work  // queries that are being embedded

	embedding sync.Mutex // serialises Embed
	free      sync.Pool  // of *scores

	mu sync.RWMutex // protects the fields below

	messages []message
	origins  []origin // by message
	sessions []session
	people   people
	told     told
	lastTold map[int32]time.Time // conversation → the last date that its texts tell
	lengths  lengths
	roles    []string
	tools    bool // a message used tools
	byBlock  map[string]int32
	open     map[string]int32 // conversation → its last message
	named    map[[2]string]int32
	speakers map[string][]int32 // conversation → named speakers, at most two
	ids      int64              // bytes of blocks, refs and names of sessions
	// conversations is how many numbers conversations have.
	conversations int32

	// By passage, in the order in which they were added.
	messageOf []int32
	texts     texts
	saying    []uint64 // hash of speaker and text
	cost      []int32  // tokens of its line
	flags     []uint8
	vectorOf  []int32           // -1 until embedded
	embedded  int               // passages before this one are done
	awaiting  map[int32]awaited // messages to embed

	sizes        []size // by cost, up to the highest so far
	said         []saidIn
	instructions []int32 // passages that contain instructions

	words   keyword.Index
	vectors *vector.Index // nil until the first vector

	whole   *keyword.Index // index of sessions; nil until Sessions needs it
	wholeOf int            // how many passages it covers
}

// none is the number of a missing element.
const none = -1

// message is the position of a message. Every search reads all of them.
type message struct {
	session      int32
	speaker      int32 // -1 for none
	told         int32 // the name in its text, a number of told; -1 for none
	prev, next   int32 // in the session; -1 for none
	first, count int32 // passages
}

// origin is where a message comes from.
type origin struct {
	block, ref string
	role       string
	time       time.Time
}

// session is a part of a conversation within one day.
type session struct {
	begin        time.Time
	told         bool // begin is what a text says
	conversation string
	number       int32 // of the conversation
	cost         int32 // tokens of the header
}

// NewScope returns an empty scope.
func NewScope(o Options) *Scope {
	s := &Scope{o: o, weights: DefaultWeights(), count: o.Count, queries: o.Model, byBlock: map[string]int32{},
		open: map[string]int32{}, named: map[[2]string]int32{}, speakers: map[string][]int32{}}
	if o.Weights != nil {
		s.weights = *o.Weights
	}
	if s.count == nil {
		counter := token.NewCounter(token.Model{Encoding: "o200k_base", Exact: true}, token.Options{})
		s.count = func(text string) int { return counter.Text(text).Tokens }
	}
	return s
}

// Add indexes messages. It skips messages whose block exists already.
func (s *Scope) Add(ctx context.Context, messages []Message) error {
	for i := range messages {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.add(&messages[i])
	}
	return nil
}

func (s *Scope) add(m *Message) {
	var spoken [][2]int
	if m.Role == "user" {
		spoken = chat.Spoken(m.Text)
	}
	passages := m.passages(spoken)
	flags, said := make([]uint8, len(passages)), make([][]Said, len(passages))
	if m.Role == "user" {
		end := 0
		var found []saidAt
		if !chat.ToolName(m.Name) {
			found = detect(m.Text)
		}
		for i, text := range passages {
			for len(spoken) > 0 && spoken[0][1] <= end {
				spoken = spoken[1:]
			}
			flags[i] = flagsOf(m.Text, spoken, end, end+len(text))
			end += len(text)
			for len(found) > 0 && found[0].at < end {
				said[i] = append(said[i], found[0].Said)
				found = found[1:]
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.byBlock[m.Block]; ok && m.Block != "" {
		return
	}
	id := int32(len(s.messages))
	// Clone, because the caller's strings may be parts of something large.
	from := origin{block: strings.Clone(m.Block), ref: strings.Clone(m.Ref), role: s.role(m.Role), time: m.Time}
	s.ids += allocated(m.Block) + allocated(m.Ref)
	msg := message{speaker: s.people.add(m.Name), told: none, next: none, first: int32(s.texts.count())}
	msg.session, msg.prev = s.place(m)
	if msg.speaker == none {
		msg.told = s.told.add(s.sessions[msg.session].number, m.Text, m.Role, &s.people)
		s.lengths.add(m)
	}
	instructs := s.instructs(m.Conversation, s.speaker(&msg))
	for i, text := range passages {
		for _, d := range said[i] {
			if !instructs {
				break
			}
			flags[i] |= d.Kind.flag()
			s.said = append(s.said, saidIn{int32(len(s.messageOf)), Said{d.Kind, strings.Clone(d.Text)}})
			s.ids += allocated(d.Text)
		}
		s.addPassage(id, s.label(msg.speaker, m.Role, flags[i]), text, flags[i])
	}
	s.tools = s.tools || len(m.Tools) > 0 || len(m.Given) > 0
	s.addTools(id, s.label(msg.speaker, m.Role, flagTool), m.Tools, flagTool)
	s.addTools(id, s.label(msg.speaker, m.Role, flagTool|flagGiven), m.Given, flagTool|flagGiven)
	msg.count = int32(s.texts.count()) - msg.first
	s.messages, s.origins = append(s.messages, msg), append(s.origins, from)
	if msg.prev >= 0 {
		s.messages[msg.prev].next = id
	}
	s.await(id, m.Content)
	s.byBlock[from.block] = id
	s.open[m.Conversation] = id
}

// role returns name, sharing the memory of an equal role.
func (s *Scope) role(name string) string {
	if i := slices.Index(s.roles, name); i >= 0 {
		return s.roles[i]
	}
	if len(s.roles) < manyRoles {
		s.roles = append(s.roles, strings.Clone(name))
	}
	return name
}

// manyRoles is more than any conversation has.
const manyRoles = 16

// instructs reports whether the users of a conversation speak to an assistant.
// If several people have names they speak to each other, and "always" is not
// an instruction; passages that were taken for one are then corrected.
func (s *Scope) instructs(conversation string, speaker int32) bool {
	names := s.speakers[conversation]
	if speaker == none || len(names) == 2 || slices.Contains(names, speaker) {
		return len(names) < 2
	}
	if len(names) == 0 {
		s.ids += allocated(conversation)
		s.speakers[strings.Clone(conversation)] = []int32{speaker}
		return true
	}
	s.speakers[conversation] = append(names, speaker)
	for i := range s.said {
		if p := s.said[i].passage; s.sessions[s.messages[s.messageOf[p]].session].conversation == conversation {
			s.flags[p] &^= flagInstruction | flagPreference
		}
	}
	return false
}

func (s *Scope) addTools(m int32, label string, tools []string, flags uint8) {
	for _, tool := range tools {
		for _, text := range split(tool, passageTarget) {
			s.addPassage(m, label, text, flags)
		}
	}
}

// addPassage appends a passage. A text too short to be found still becomes a
// passage, so that messages stay whole, but is not indexed.
func (s *Scope) addPassage(m int32, label, text string, flags uint8) {
	body := text
	if !indexed(text) {
		body = ""
		flags |= flagShort
	}
	s.words.Add(body)
	if flags&flagInstruction != 0 {
		s.instructions = append(s.instructions, int32(len(s.messageOf)))
	}
	s.messageOf = append(s.messageOf, m)
	s.texts.add(text)
	// What Disarm adds is counted with the whole; see packing.finish.
	line := quote.Lines(label, strings.TrimSuffix(text, "\n")) + "\n"
	s.saying = append(s.saying, maphash.String(seed, line))
	cost := int32(s.count(line))
	s.cost = append(s.cost, cost)
	s.notice(cost)
	s.flags = append(s.flags, flags)
	s.vectorOf = append(s.vectorOf, -1)
}

// place returns the session of a message and the message before it. A new day
// begins a new session, which continues the one before. A date that the text tells
// begins one that does not.
func (s *Scope) place(m *Message) (id, prev int32) {
	last, ok := s.open[m.Conversation]
	prev = none
	begin := m.Time
	number := s.conversations
	if ok {
		number = s.sessions[s.messages[last].session].number
	}
	var at time.Time
	named := s.told.dates(number, m.Text)
	if named {
		at = toldTime(m.Text)
	}
	if m.Session != "" {
		key := [2]string{m.Conversation, m.Session}
		if id, known := s.named[key]; known {
			if ok && s.messages[last].session == id {
				prev = last
			}
			if s.sessions[id].dayOf(m.Time) {
				return id, prev
			}
		} else {
			s.ids += allocated(m.Conversation) + allocated(m.Session)
		}
		s.named[key] = int32(len(s.sessions))
	} else if !at.IsZero() {
		begin = at
		if ok {
			if id := s.messages[last].session; s.sessions[id].told && dayNumber(at) == dayNumber(s.sessions[id].begin) {
				return id, last
			}
		}
	} else if ok && m.Time.Sub(s.origins[last].time) < SessionGap {
		prev = last
		if id := s.messages[last].session; s.sessions[id].told && named ||
			!s.sessions[id].told && s.sessions[id].dayOf(m.Time) {
			return id, prev
		}
	}
	ss := session{begin: begin, told: !at.IsZero() && m.Session == "", conversation: m.Conversation}
	if ok {
		before := &s.sessions[s.messages[last].session]
		ss.conversation, ss.number = before.conversation, before.number // share the memory
	} else {
		ss.number = s.conversations
		s.conversations++
	}
	if ss.told {
		if s.lastTold == nil {
			s.lastTold = map[int32]time.Time{}
		}
		if s.lastTold[ss.number].Before(ss.begin) {
			s.lastTold[ss.number] = ss.begin
		}
	}
	ss.cost = int32(s.count(ss.header()))
	s.sessions = append(s.sessions, ss)
	return int32(len(s.sessions) - 1), prev
}

// dayOf reports whether a time is on the session's day. A message without a
// time always is.
func (ss *session) dayOf(t time.Time) bool {
	return t.IsZero() || ss.begin.IsZero() || dayNumber(t) == dayNumber(ss.begin)
}

// seed is the seed of the hashes in Scope.saying.
var seed = maphash.MakeSeed()

// Remove removes messages from the scope by their blocks.
func (s *Scope) Remove(blocks ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, block := range blocks {
		id, ok := s.byBlock[block]
		if !ok {
			continue
		}
		delete(s.byBlock, block)
		m := &s.messages[id]
		if m.prev >= 0 {
			s.messages[m.prev].next = m.next
		}
		if m.next >= 0 {
			s.messages[m.next].prev = m.prev
		}
		for name, last := range s.open {
			if last == id {
				if m.prev >= 0 {
					s.open[name] = m.prev
				} else {
					delete(s.open, name)
				}
			}
		}
		for i := m.first; i < m.first+m.count; i++ {
			s.words.Remove(int(i))
			if v := s.vectorOf[i]; v >= 0 {
				s.vectors.Remove(int(v))
				s.vectorOf[i] = -1
			}
			s.flags[i] |= flagRemoved
			s.texts.blank(i)
		}
	}
}

// Len returns the number of passages, and of those that have a vector or need
// none.
func (s *Scope) Len() (passages, embedded int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.texts.count(), s.embedded
}
