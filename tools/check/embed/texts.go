package embed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/tools/transcript"
	"github.com/oriel-context/oriel/wire"
)

// longest is the most bytes of a text. The model reads 256 tokens; the rest
// only costs tokenisation.
const longest = 16 << 10

// A text is something to embed. Turns and questions of one LoCoMo conversation
// have the same Group, which is 0 for all others.
type text struct {
	Text  string `json:"text"`
	Kind  string `json:"kind"`
	Group int    `json:"group,omitempty"`
}

// The kinds that come from LoCoMo.
const (
	turn     = "turn"
	question = "question"
)

// collect reads the texts of all paths, without duplicates.
func collect(paths []string, n int, seed uint64) ([]text, error) {
	c := collection{seen: map[string]bool{}}
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			if ext := filepath.Ext(file); ext != ".json" && ext != ".jsonl" {
				return nil
			}
			if err := c.file(file); err != nil && (file == path || !errors.Is(err, transcript.ErrUnknown)) {
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return append(c.turns, sample(c.others, n, seed)...), nil
}

type collection struct {
	turns, others []text
	groups        int
	seen          map[string]bool
}

func (c *collection) file(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if found, err := c.locomo(data); found || err != nil {
		return err
	}
	sessions, err := transcript.Open(path)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if err := c.session(s); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// locomo reads a file of LoCoMo, if it is one: a list of conversations, each
// with its sessions under session_1, session_2 … and with questions.
func (c *collection) locomo(data []byte) (found bool, err error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return false, nil
	}
	var samples []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []struct {
			Question string `json:"question"`
		} `json:"qa"`
	}
	if json.Unmarshal(data, &samples) != nil || len(samples) == 0 || samples[0].Conversation == nil {
		return false, nil
	}
	for _, s := range samples {
		c.groups++
		for i := 1; ; i++ {
			raw, ok := s.Conversation[fmt.Sprint("session_", i)]
			if !ok {
				break
			}
			var turns []struct{ Speaker, Text string }
			if err := json.Unmarshal(raw, &turns); err != nil {
				return true, err
			}
			for _, t := range turns {
				c.turn(t.Speaker+": "+t.Text, turn)
			}
		}
		for _, q := range s.QA {
			c.turn(q.Question, question)
		}
	}
	return true, nil
}

func (c *collection) turn(s, kind string) {
	if !c.seen[s] {
		c.seen[s] = true
		c.turns = append(c.turns, text{s, kind, c.groups})
	}
}

// session adds the texts of the last request of every history.
func (c *collection) session(s *transcript.Session) error {
	var last []byte
	history := 0
	for r := range s.Requests() {
		if r.History != history {
			if err := c.body(s.Format, last); err != nil {
				return err
			}
			history = r.History
		}
		last = append(last[:0], r.Body...)
	}
	return c.body(s.Format, last)
}

func (c *collection) body(f transcript.Format, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	b, err := wire.Read(data, kit.Formats[f], wire.Limits{})
	if err != nil {
		return err
	}
	for i := range b.Messages {
		m := &b.Messages[i]
		for j := range m.Parts {
			c.part(string(m.Role), &m.Parts[j])
		}
	}
	return nil
}

func (c *collection) part(role string, p *chat.Part) {
	switch p.Kind {
	case chat.Text:
		c.add(p.Text.String(), role)
	case chat.Thinking:
		c.add(p.Text.String(), "thinking")
	case chat.Call:
		c.add(p.Arguments(), "call")
	case chat.Result:
		if len(p.Text) > 0 {
			c.add(p.Text.String(), "result")
		}
		for i := range p.Parts {
			if p.Parts[i].Kind == chat.Text {
				c.add(p.Parts[i].Text.String(), "result")
			}
		}
	}
}

func (c *collection) add(s, kind string) {
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "")
	}
	if s != "" && !c.seen[s] {
		c.seen[s] = true
		c.others = append(c.others, text{Text: s, Kind: kind})
	}
}

// sample draws n texts: the same number from every kind and length class, or
// all if there are fewer.
func sample(texts []text, n int, seed uint64) []text {
	type cell struct {
		kind   string
		length int
	}
	cells := map[cell][]text{}
	var order []cell
	for _, t := range texts {
		k := cell{t.Kind, bits.Len(uint(len(t.Text)))}
		if cells[k] == nil {
			order = append(order, k)
		}
		cells[k] = append(cells[k], t)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for _, k := range order {
		random.Shuffle(len(cells[k]), func(i, j int) { cells[k][i], cells[k][j] = cells[k][j], cells[k][i] })
	}
	var out []text
	for len(out) < n && len(order) > 0 {
		for _, k := range order {
			if len(out) < n {
				out, cells[k] = append(out, cells[k][0]), cells[k][1:]
			}
		}
		order = slices.DeleteFunc(order, func(k cell) bool { return len(cells[k]) == 0 })
	}
	return out
}

func writeTexts(w io.Writer, texts []text) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	for _, t := range texts {
		if err := enc.Encode(t); err != nil {
			return err
		}
	}
	return out.Flush()
}

func readTexts(path string) ([]text, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var texts []text
	for dec := json.NewDecoder(f); ; {
		var t text
		if err := dec.Decode(&t); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		texts = append(texts, t)
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no texts", path)
	}
	return texts, nil
}
