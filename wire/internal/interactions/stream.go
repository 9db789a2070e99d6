package interactions

import (
	"bytes"
	"slices"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// stream assembles the events of an interaction. The last event may have its steps; the earlier
// ones are for streams whose last event has none, and for those that are cut off.
type stream struct {
	begun bool
	final [][]byte
	steps []*step
}

// step is a step as it began, and what was added to it.
type step struct {
	index int64
	raw   []byte
	parts []*part             // of its content, or of a thought's summary
	args  []byte              // JSON
	with  []protocol.Replaced // other members, as the last delta had them
	fixed bool                // a user's or a client's, which is not of the reply
	// thought reports that the step is one, whose parts are a summary.
	thought bool
}

// part is an element of a content. Texts grow.
type part struct {
	raw, text, annotations []byte
	joins                  bool
}

func (s *step) Index() int64 { return s.index }

func (s *stream) Read(r *protocol.Stream, name []byte, event rawjson.Value) {
	if kind := event.Get("event_type"); kind.Kind() == rawjson.String {
		name = protocol.Key(kind)
	}
	switch string(name) {
	case "interaction.created", "interaction.status_update":
		s.begun = true
		readStatus(&r.Reply, event.Get("interaction"))
		if u := event.Get("usage"); u.Exists() {
			readUsage(&r.Reply.Usage, u)
		}
		r.Reply.Pending = false
	case "step.start":
		s.start(r, protocol.Number(event.Get("index")), event.Get("step"))
	case "step.delta":
		s.add(r, protocol.Number(event.Get("index")), event.Get("delta"))
	case "step.stop":
	case "interaction.completed":
		s.end(r, event.Get("interaction"))
	case "error":
		r.Fail(protocol.StreamError(event))
	default:
		if event.Has("error") {
			r.Fail(protocol.StreamError(event))
			return
		}
		r.Reply.Note("an unknown event: ", name)
	}
}

func (s *stream) start(r *protocol.Stream, index int64, v rawjson.Value) {
	if v.Kind() != rawjson.Object || !r.Room(protocol.Structure+len(v.Raw())) {
		return
	}
	s.begun = true
	t := v.Get("type")
	s.steps = append(s.steps, &step{index: index, raw: slices.Clone(v.Raw()), thought: t.EqualStr("thought"),
		fixed: t.EqualStr("user_input") || t.EqualStr("function_result")})
}

// add adds a delta to its step; a server may begin one without announcing it.
func (s *stream) add(r *protocol.Stream, index int64, delta rawjson.Value) {
	st := protocol.Newest(s.steps, index)
	if st == nil {
		if delta.Kind() != rawjson.Object || !r.Room(protocol.Structure) {
			return
		}
		st = &step{index: index, raw: []byte(`{"type":"model_output"}`)}
		s.begun, s.steps = true, append(s.steps, st)
	}
	switch t := delta.Get("type"); {
	case t.EqualStr("text"):
		st.element(r, delta)
	case t.EqualStr("thought_summary"):
		st.element(r, delta.Get("content"))
	case t.EqualStr("image"), t.EqualStr("audio"), t.EqualStr("video"), t.EqualStr("document"):
		st.element(r, delta)
	case t.EqualStr("arguments_delta"):
		if more := delta.Get("arguments"); more.Kind() == rawjson.String && r.Room(len(more.Raw())) {
			st.args = more.AppendStr(st.args)
		}
	case t.EqualStr("text_annotation_delta"):
		if n := len(st.parts); n > 0 {
			for a := range delta.Get("annotations").Elems() {
				st.parts[n-1].annotations = r.KeepElement(st.parts[n-1].annotations, a.Raw())
			}
		}
	default: // a signature, or what a tool of Google's was asked and returned
		for k, m := range delta.Members() {
			if name := k.Str(); name != "type" && r.Room(len(m.Raw())+len(name)) {
				st.with = append(slices.DeleteFunc(st.with, func(w protocol.Replaced) bool { return w.Name == name }),
					protocol.Replaced{Name: name, Value: slices.Clone(m.Raw())})
			}
		}
	}
}

// element adds an element to the content, or its text to the one before it.
func (s *step) element(r *protocol.Stream, v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		return
	}
	text := v.Get("text")
	joins := v.Get("type").EqualStr("text") && text.Kind() == rawjson.String
	if n := len(s.parts); joins && n > 0 && s.parts[n-1].joins && s.parts[n-1].annotations == nil {
		s.parts[n-1].text = r.Keep(s.parts[n-1].text, protocol.Inner(text))
		return
	}
	if !r.Room(protocol.Structure + len(v.Raw())) {
		return
	}
	p := &part{raw: slices.Clone(v.Raw()), joins: joins}
	if joins {
		p.text = slices.Clone(protocol.Inner(text))
	}
	s.parts = append(s.parts, p)
}

// end reads the last event.
func (s *stream) end(r *protocol.Stream, interaction rawjson.Value) {
	s.begun, r.Ended = true, true
	readStatus(&r.Reply, interaction)
	if r.Reply.Stop == "in_progress" { // that of an earlier event
		r.Reply.Stop, r.Reply.Pending = "completed", false
	}
	steps := interaction.Get("steps")
	if all := own(steps); len(all) > 0 && r.Room(len(steps.Raw())+len(all)*protocol.Structure) {
		s.steps, s.final = nil, all
	}
}

// Done implements protocol.Assembly: the protocol has an event for the end.
func (s *stream) Done(*protocol.Stream) {}

func (s *stream) Write(r *protocol.Reply) bool {
	r.Items = slices.Clone(s.final)
	if s.final == nil {
		for _, st := range s.steps {
			if !st.fixed {
				r.Items = append(r.Items, st.appendTo(nil, r))
			}
		}
	}
	return s.begun
}

func (s *step) appendTo(dst []byte, r *protocol.Reply) []byte {
	with := slices.Clone(s.with)
	if s.parts != nil {
		name := "content"
		if s.thought {
			name = "summary"
		}
		var list []byte
		for i, p := range s.parts {
			if i > 0 {
				list = append(list, ',')
			}
			list = p.appendTo(list)
		}
		with = append(with, protocol.Replaced{Name: name, Value: protocol.JoinList(s.raw, name, list)})
	}
	if s.args != nil {
		args := bytes.TrimSpace(s.args)
		if doc, err := rawjson.Parse(args, rawjson.Limits{}); err != nil || doc.Root().Kind() != rawjson.Object {
			r.Note("the arguments of a call are not an object", nil)
			args = []byte("{}")
		}
		with = append(with, protocol.Replaced{Name: "arguments", Value: args})
	}
	return protocol.AppendReplaced(dst, s.raw, with)
}

func (p *part) appendTo(dst []byte) []byte {
	var with []protocol.Replaced
	if p.joins {
		with = append(with, protocol.Replaced{Name: "text", Value: protocol.AppendQuoted(nil, p.text)})
	}
	if p.annotations != nil {
		with = append(with, protocol.Replaced{Name: "annotations",
			Value: protocol.JoinList(p.raw, "annotations", p.annotations)})
	}
	return protocol.AppendReplaced(dst, p.raw, with)
}
