package wire

import (
	"bytes"
	"encoding/base64"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/bedrock"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// frameState is the place in a stream of frames.
type frameState struct {
	size  int  // of the frame whose beginning is in line; 0 until its prelude is complete
	skip  int  // bytes of a frame that is not kept
	ended bool // the next frame cannot be found
}

// writeFrames processes the next bytes of a stream of frames. A frame that is whole in p is read
// where it is; others are collected in line.
func (r *StreamReader) writeFrames(p []byte) {
	for s := &r.frame; len(p) > 0 && !s.ended; {
		if s.skip > 0 {
			n := min(s.skip, len(p))
			p, s.skip = p[n:], s.skip-n
			continue
		}
		if len(r.line) == 0 && len(p) >= bedrock.Prelude {
			size, ok := r.frameSize(p)
			if !ok {
				return
			}
			if size <= len(p) && size <= r.limit() {
				r.readFrame(p[:size])
				p = p[size:]
				continue
			}
		}
		need := bedrock.Prelude
		if s.size > 0 {
			need = s.size
		}
		had := len(r.line)
		n := min(need-had, len(p))
		if r.line = r.extend(r.line, p[:n]); r.line == nil { // no memory for it
			s.skip, s.ended = need-had, s.size == 0
			s.size = 0
			continue
		}
		p = p[n:]
		switch {
		case len(r.line) < need:
		case s.size > 0:
			r.readFrame(r.line)
			if r.line, s.size = r.line[:0], 0; cap(r.line) > largeBuffer {
				r.freeBuffers()
			}
		default:
			size, ok := r.frameSize(r.line)
			if !ok {
				return
			}
			if s.size = size; size > r.limit() {
				r.passOver()
				s.skip, s.size = size-bedrock.Prelude, 0
			}
		}
	}
}

// frameSize returns the size of the frame that begins with a prelude, or false if there is none.
func (r *StreamReader) frameSize(prelude []byte) (int, bool) {
	size, err := bedrock.Size(prelude)
	if err != nil {
		r.stream.Reply.Note(err.Error(), nil)
		r.lost, r.frame.ended = true, true
		r.freeBuffers()
	}
	return size, err == nil
}

// readFrame reads a whole frame.
func (r *StreamReader) readFrame(raw []byte) {
	f, err := bedrock.Parse(raw)
	if err != nil {
		r.stream.Reply.Note(err.Error(), nil)
		r.lost = true
		return
	}
	if f.Failed {
		r.stream.Fail(frameError(f))
		return
	}
	event, ok := eventOf(f, r.data[:0])
	if f.Name == chunk {
		r.data = event[:0]
	}
	if !ok || len(event) > 0 && !r.readEvent([]byte(f.Name), event) {
		r.stream.Reply.Note("an event is not JSON", nil)
		r.lost = true
	}
}

// chunk is the name of the frames of InvokeModel: the payload has an event of the model's own
// protocol, in base64. The payload of any other frame is the event.
const chunk = "chunk"

// eventOf returns the event of a frame, or false if the payload is not what it should be. An event
// in base64 is decoded into buffer.
func eventOf(f bedrock.Frame, buffer []byte) (event []byte, ok bool) {
	if f.Name != chunk {
		return f.Payload, true
	}
	doc, err := rawjson.Parse(f.Payload, rawjson.Limits{})
	if err != nil {
		return buffer, false
	}
	text := doc.Root().Get("bytes")
	inner := protocol.Inner(text)
	if bytes.IndexByte(inner, '\\') >= 0 {
		inner = []byte(text.Str())
	}
	event, err = base64.StdEncoding.AppendDecode(buffer, inner)
	return event, err == nil
}

// frameError returns the error of a frame in the form that ReadOverflow accepts.
func frameError(f bedrock.Frame) *ReplyError {
	message := chat.Quote(f.Message)
	if doc, err := rawjson.Parse(f.Payload, rawjson.Limits{}); err == nil {
		if said := doc.Root().Get("message"); said.Kind() == rawjson.String {
			message = said.Raw()
		}
	}
	raw := append([]byte(`{"error":{"type":`), chat.Quote(f.Name)...)
	raw = append(append(append(raw, `,"message":`...), message...), "}}"...)
	return &ReplyError{Type: f.Name, Message: chat.String(message).String(), Raw: raw}
}

// FrameRefusal returns the error with which a stream of frames begins, in the form that
// ReadOverflow accepts; nil if it begins with anything else. sure reports that head has the whole
// of the first frame or is not the beginning of one.
func FrameRefusal(head []byte) (refusal []byte, sure bool) {
	if len(head) < bedrock.Prelude {
		return nil, false
	}
	size, err := bedrock.Size(head)
	if err != nil {
		return nil, true
	}
	if len(head) < size {
		return nil, false
	}
	f, err := bedrock.Parse(head[:size])
	if err != nil {
		return nil, true
	}
	if f.Failed {
		return frameError(f).Raw, true
	}
	event, _ := eventOf(f, nil)
	if doc, err := rawjson.Parse(event, rawjson.Limits{}); err == nil && doc.Root().Kind() == rawjson.Object {
		if e := doc.Root().Get("error"); e.Exists() && e.Kind() != rawjson.Null {
			return event, true
		}
	}
	return nil, true
}
