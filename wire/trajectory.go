package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Form is one of the two dictionary forms of a trajectory.
type Form uint8

const (
	// Flat is thought_1, tool_1, tool_args_1, tool_result_1, counted from 1.
	Flat Form = iota
	// DSPy is thought_0, tool_name_0, tool_args_0, observation_0, counted from 0.
	DSPy
)

func (f Form) String() string {
	if f == DSPy {
		return "dspy"
	}
	return "flat"
}

// Base returns the number of the first interaction.
func (f Form) Base() int {
	if f == DSPy {
		return 0
	}
	return 1
}

// stepNames are the stems of an interaction's keys: thought, tool, arguments and
// result, in that order.
var stepNames = [...][4]string{
	Flat: {"thought", "tool", "tool_args", "tool_result"},
	DSPy: {"thought", "tool_name", "tool_args", "observation"},
}

// noteKey is the member that says how much was removed.
const noteKey = "context_note"

// Trajectory is the dictionary of an agent's steps (SPEC C4).
type Trajectory struct {
	Form     Form
	Question chat.String
	// Note is the context note of the input, if any.
	Note chat.String
	// Steps are the interactions, sorted by their numbers, which may have gaps.
	Steps []Step

	data []byte
	// before and after are the members outside steps, in order: those before the
	// first step and those after it.
	before, after []field
}

// Step is one interaction: thought, tool, arguments and result.
type Step struct {
	// Number is the number in the keys.
	Number int
	fields []field
	form   Form
}

// field is one member of the dictionary; stem is its key without the number.
type field struct {
	key, stem string
	raw       []byte
}

// Thought returns the agent's thought, raw, or nil if the step has none.
func (s *Step) Thought() []byte { return s.get(0) }

// Tool returns the name of the tool, raw.
func (s *Step) Tool() []byte { return s.get(1) }

// Args returns the tool's arguments, raw.
func (s *Step) Args() []byte { return s.get(2) }

// Result returns the tool's result, raw: a string or any other JSON.
func (s *Step) Result() []byte { return s.get(3) }

// SetResult replaces the step's result.
func (s *Step) SetResult(raw []byte) {
	stem := stepNames[s.form][3]
	s.fields = slices.Clone(s.fields)
	found := false
	for i := range s.fields {
		if s.fields[i].stem == stem {
			s.fields[i].raw, found = raw, true
		}
	}
	if !found {
		s.fields = append(s.fields, field{stem: stem, raw: raw})
	}
}

func (s *Step) get(i int) []byte {
	for j := len(s.fields) - 1; j >= 0; j-- {
		if s.fields[j].stem == stepNames[s.form][i] {
			return s.fields[j].raw
		}
	}
	return nil
}

// isTrajectory reports whether an object has the keys of a step, or a question.
func isTrajectory(root rawjson.Value) bool {
	for k := range root.Members() {
		name := string(protocol.Key(k))
		if name == "question" || name == noteKey {
			return true
		}
		if stem, _, ok := splitKey(name); ok && (slices.Contains(stepNames[Flat][:], stem) ||
			slices.Contains(stepNames[DSPy][:], stem)) {
			return true
		}
	}
	return false
}

// emptyObject reports whether an object is empty, as the trajectory with which
// DSPy's loop begins.
func emptyObject(v rawjson.Value) bool {
	if v.Kind() != rawjson.Object {
		return false
	}
	for range v.Members() {
		return false
	}
	return true
}

// splitKey splits a key into stem and number. A number with leading zeros is part of
// the name.
func splitKey(name string) (stem string, number int, ok bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	digits := name[i:]
	if digits == "" || len(digits) > 9 || i < 2 || name[i-1] != '_' || digits[0] == '0' && len(digits) > 1 {
		return "", 0, false
	}
	n, err := strconv.Atoi(digits)
	return name[:i-1], n, err == nil
}

// ReadTrajectory reads a trajectory in either form.
func ReadTrajectory(data []byte, lim Limits) (*Trajectory, error) {
	t := &Trajectory{data: data}
	if err := parse(data, lim, t.read); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Trajectory) read(root rawjson.Value) error {
	if !isTrajectory(root) && !emptyObject(root) {
		return protocol.Fail(root,
			`not a trajectory: want "question" and keys such as thought_1, tool_1, tool_args_1, tool_result_1 or thought_0, tool_name_0, tool_args_0, observation_0`)
	}
	if nested := root.Get("trajectory"); nested.Kind() == rawjson.Object {
		return protocol.In(protocol.Fail(nested, "the steps are in this member: give that object alone"), "trajectory")
	}
	var err error
	if t.Form, err = trajectoryForm(root); err != nil {
		return err
	}
	numbers := map[int]int{} // step number → index in Steps
	for k := range root.Members() {
		if stem, n, ok := splitKey(string(protocol.Key(k))); ok && slices.Contains(stepNames[t.Form][:], stem) {
			if _, seen := numbers[n]; !seen {
				numbers[n] = len(t.Steps)
				t.Steps = append(t.Steps, Step{Number: n, form: t.Form})
			}
		}
	}
	started := false
	for k, v := range root.Members() {
		f := field{key: k.Str(), raw: v.Raw()}
		stem, n, ok := splitKey(f.key)
		if i, isStep := numbers[n]; ok && isStep {
			f.stem = stem
			t.Steps[i].fields = append(t.Steps[i].fields, f)
			started = true
			continue
		}
		switch f.key {
		case "question":
			t.Question, err = protocol.Text(v)
		case noteKey:
			t.Note, err = protocol.Text(v)
		}
		if err != nil {
			return protocol.In(err, f.key)
		}
		if started {
			t.after = append(t.after, f)
		} else {
			t.before = append(t.before, f)
		}
	}
	slices.SortStableFunc(t.Steps, func(a, b Step) int { return cmp.Compare(a.Number, b.Number) })
	return nil
}

// trajectoryForm determines the form from keys that only one of them has. A
// trajectory of thoughts alone is recognised by its first number.
func trajectoryForm(root rawjson.Value) (Form, error) {
	var flat, dspy string
	zero := false
	for k := range root.Members() {
		stem, n, ok := splitKey(string(protocol.Key(k)))
		if !ok {
			continue
		}
		switch stem {
		case "tool", "tool_result":
			flat = k.Str()
		case "tool_name", "observation":
			dspy = k.Str()
		case "thought", "tool_args":
			zero = zero || n == 0
		}
	}
	if flat != "" && dspy != "" {
		return Flat, protocol.Fail(root, "a trajectory of two forms: it has %q and %q", flat, dspy)
	}
	if dspy != "" || flat == "" && zero {
		return DSPy, nil
	}
	return Flat, nil
}

// Write returns the dictionary with the given steps, renumbered from the base of its
// form, and with the note; a nil note keeps the original one. If nothing changes,
// Write returns the original bytes.
func (t *Trajectory) Write(steps []Step, note chat.String) []byte {
	if note == nil {
		note = t.Note
	}
	if t.unchanged(steps, note) {
		return t.data
	}
	w := dictWriter{out: make([]byte, 0, len(t.data))}
	w.out = append(w.out, '{')
	for _, f := range t.before {
		if f.key != noteKey {
			w.put(f.key, f.raw)
		}
	}
	for i, s := range steps {
		for _, f := range s.fields {
			w.put(f.stem+"_"+strconv.Itoa(t.Form.Base()+i), f.raw)
		}
	}
	for _, f := range t.after {
		if f.key != noteKey {
			w.put(f.key, f.raw)
		}
	}
	if note != nil {
		w.put(noteKey, note)
	}
	return append(w.out, '}')
}

// unchanged reports whether steps are the original ones under the numbers that they
// would get.
func (t *Trajectory) unchanged(steps []Step, note chat.String) bool {
	if len(steps) != len(t.Steps) || !bytes.Equal(note, t.Note) {
		return false
	}
	for i, s := range steps {
		if s.Number != t.Form.Base()+i || s.Number != t.Steps[i].Number || len(s.fields) != len(t.Steps[i].fields) {
			return false
		}
		for j, f := range s.fields {
			if !bytes.Equal(f.raw, t.Steps[i].fields[j].raw) {
				return false
			}
		}
	}
	return true
}

type dictWriter struct{ out []byte }

func (w *dictWriter) put(key string, raw []byte) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ", "...)
	}
	w.out = chat.AppendQuote(w.out, key)
	w.out = append(w.out, ": "...)
	w.out = append(w.out, raw...)
}

// Request returns the trajectory as a conversation: the question, and for each step
// an assistant's message and a tool's.
func (t *Trajectory) Request() *chat.Request {
	r := &chat.Request{}
	if t.Question != nil {
		r.Messages = append(r.Messages,
			chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: t.Question}}})
	}
	if t.Note != nil {
		r.Messages = append(r.Messages,
			chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: t.Note}}})
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		id := fmt.Sprintf("step_%d", s.Number)
		var parts []chat.Part
		if thought := s.Thought(); thought != nil {
			parts = append(parts, chat.Part{Kind: chat.Text, Text: literal(thought)})
		}
		if tool := s.Tool(); tool != nil {
			parts = append(parts, chat.Part{Kind: chat.Call, ID: id, Name: literal(tool).String(), Args: s.Args(),
				Hosted: s.Result() == nil})
		}
		if len(parts) > 0 {
			r.Messages = append(r.Messages, chat.Message{Role: chat.Assistant, Parts: parts})
		}
		if result := s.Result(); result != nil {
			r.Messages = append(r.Messages,
				chat.Message{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: id, Text: literal(result)}}})
		}
	}
	return r
}

// literal returns raw JSON as a string: itself if it is one, otherwise its text
// quoted.
func literal(raw []byte) chat.String {
	if len(raw) > 0 && raw[0] == '"' {
		return raw
	}
	return chat.Quote(string(raw))
}
