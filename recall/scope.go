package recall

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/recall/keyword"
	"github.com/oriel-context/oriel/recall/vector"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Options are what a scope is made with.
type Options struct {
	// Model makes the vectors; nil means words alone.
	Model embed.Model
	// Count counts the tokens of a text. Default: o200k_base.
	Count func(string) int
	// Weights are the constants of the score; nil means DefaultWeights.
	Weights *Weights
}

// Scope is an index over the messages of a conversation, or of several. It is safe
// for concurrent use.
type Scope struct {
	o       Options
	weights Weights
	count   func(string) int

	embedding sync.Mutex // one Embed at a time

	mu sync.RWMutex // protects what follows

	messages []message
	origins  []origin // of the messages
	sessions []session
	people   people
	byBlock  map[string]int32
	open     map[string]int32 // conversation → its last message
	named    map[[2]string]int32
	places   map[timeline.Place]bool // what Load has seen

	// By passage, in the order in which they were added.
	messageOf []int32
	texts     []string
	cost      []int32   // tokens of its line
	long      []float32 // logarithm of the cost in knees; 0 up to one
	short     []float32 // knees by cost; 1 up to one
	flags     []uint8
	vectorOf  []int32 // -1 until embedded
	embedded  int     // passages before this one need no look

	words   keyword.Index
	vectors *vector.Index // nil until the first vector

	whole   *keyword.Index // of sessions; nil until Sessions needs it
	wholeOf int            // how many passages it has
}

// none is the number of what is not there.
const none = -1

// message is where a message stands. All of them are looked at in every search.
type message struct {
	session      int32
	speaker      int32 // -1 for none
	prev, next   int32 // in the session; -1 for none
	first, count int32 // passages
}

// origin is where a message comes from.
type origin struct {
	block, ref string
	role       string
	time       time.Time
}

// session is a stretch of a conversation.
type session struct {
	begin time.Time
	cost  int32 // tokens of the header
}

// NewScope makes an empty scope.
func NewScope(o Options) *Scope {
	s := &Scope{o: o, weights: DefaultWeights(), count: o.Count, byBlock: map[string]int32{}, open: map[string]int32{}, named: map[[2]string]int32{}}
	if o.Weights != nil {
		s.weights = *o.Weights
	}
	if s.count == nil {
		counter := token.NewCounter(token.Model{Encoding: "o200k_base", Exact: true}, token.Options{})
		s.count = func(text string) int { return counter.Text(text).Tokens }
	}
	return s
}

// Add indexes messages. One whose block is there already is passed over.
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
	passages := m.passages()
	flags := make([]uint8, len(passages))
	if m.Role == "user" {
		for i, text := range passages {
			flags[i] = flagUser
			for _, said := range Detect(text) {
				flags[i] |= said.Kind.flag()
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.byBlock[m.Block]; ok && m.Block != "" {
		return
	}
	id := int32(len(s.messages))
	from := origin{block: m.Block, ref: m.Ref, role: m.Role, time: m.Time}
	msg := message{speaker: s.people.add(m.Name), next: none, first: int32(len(s.texts))}
	msg.session, msg.prev = s.place(m)
	prefix := s.prefix(msg.speaker, m.Role)
	for i, text := range passages {
		s.addPassage(id, prefix, text, flags[i])
	}
	for _, tool := range m.Tools {
		for _, text := range split(tool, passageTarget) {
			s.addPassage(id, prefix, text, flagTool)
		}
	}
	msg.count = int32(len(s.texts)) - msg.first
	s.messages, s.origins = append(s.messages, msg), append(s.origins, from)
	if msg.prev >= 0 {
		s.messages[msg.prev].next = id
	}
	s.byBlock[m.Block] = id
	s.open[m.Conversation] = id
}

// addPassage appends a passage. What says too little to be found is a passage all
// the same, so that texts stay whole, but is in no index.
func (s *Scope) addPassage(m int32, prefix, text string, flags uint8) {
	body := text
	if !indexed(text) {
		body = ""
	}
	s.words.Add(body)
	s.messageOf = append(s.messageOf, m)
	s.texts = append(s.texts, text)
	cost := s.count(prefix + ended(text))
	s.cost = append(s.cost, int32(cost))
	knees := max(1, float64(cost)/float64(s.weights.Knee))
	s.long, s.short = append(s.long, float32(math.Log(knees))), append(s.short, float32(1/knees))
	s.flags = append(s.flags, flags)
	s.vectorOf = append(s.vectorOf, -1)
}

// place finds the session of a message and the message before it there.
func (s *Scope) place(m *Message) (id, prev int32) {
	last, ok := s.open[m.Conversation]
	if m.Session != "" {
		key := [2]string{m.Conversation, m.Session}
		if id, known := s.named[key]; known {
			if ok && s.messages[last].session == id {
				return id, last
			}
			return id, -1
		}
		s.named[key] = int32(len(s.sessions))
	} else if ok && m.Time.Sub(s.origins[last].time) < SessionGap {
		return s.messages[last].session, last
	}
	ss := session{begin: m.Time}
	ss.cost = int32(s.count(ss.header()))
	s.sessions = append(s.sessions, ss)
	return int32(len(s.sessions) - 1), -1
}

// Remove takes messages out of the scope, by their blocks.
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
			s.texts[i] = ""
		}
	}
}

// Len counts the passages and those of them that have a vector, or need none.
func (s *Scope) Len() (passages, embedded int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.texts), s.embedded
}

// embedBatch is how many passages are embedded at once: little enough that a
// request waits for no more than some of them.
const embedBatch = 64

// Embed makes the vectors that are missing. Recall works meanwhile, with those that
// are there. progress, where it is not nil, is told how far it is.
func (s *Scope) Embed(ctx context.Context, progress func(done, total int)) error {
	if s.o.Model == nil {
		return errors.New("recall: a scope without a model makes no vectors")
	}
	s.embedding.Lock()
	defer s.embedding.Unlock()
	for {
		ids, texts, total := s.pending()
		if len(ids) == 0 {
			return nil
		}
		vectors, err := s.o.Model.Embed(ctx, texts)
		if err != nil {
			return err
		}
		if err := s.keep(ids, vectors); err != nil {
			return err
		}
		if progress != nil {
			progress(int(ids[len(ids)-1])+1, total)
		}
	}
}

// pending are the next passages to embed.
func (s *Scope) pending() (ids []int32, texts []string, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.embedded
	for ; i < len(s.texts) && len(ids) < embedBatch; i++ {
		if s.vectorOf[i] >= 0 || s.flags[i]&flagRemoved != 0 || !indexed(s.texts[i]) {
			continue
		}
		name := ""
		if sp := s.messages[s.messageOf[i]].speaker; sp >= 0 && s.flags[i]&flagTool == 0 {
			name = s.people.names[sp]
		}
		ids = append(ids, int32(i))
		texts = append(texts, embedText(name, s.texts[i]))
	}
	if len(ids) == 0 {
		s.embedded = i
	} else {
		s.embedded = int(ids[0])
	}
	return ids, texts, len(s.texts)
}

func (s *Scope) keep(ids []int32, vectors [][]float32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, i := range ids {
		if s.flags[i]&flagRemoved != 0 {
			continue
		}
		id, err := s.keepVector(vectors[k])
		if err != nil {
			return err
		}
		s.vectorOf[i] = id
	}
	s.embedded = int(ids[len(ids)-1]) + 1
	return nil
}
