package wire

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// DefaultStreamLimit is the default limit of the kept bytes of a streamed reply.
const DefaultStreamLimit = 64 << 20

// StreamReader assembles a streamed reply. It reads a copy of the stream, and Write
// never fails, whatever it receives. It is not safe for concurrent use.
//
// Texts are joined as raw literals, without decoding and re-escaping; only the pieces of
// an Anthropic call's input, which are JSON in strings, are decoded. Memory is bounded
// by Limit for what is kept, plus the largest event, plus the reply once Reply is
// called.
type StreamReader struct {
	// Limit bounds the kept bytes; 0 means DefaultStreamLimit. Beyond it, the end, the
	// usage and errors are still read.
	Limit int
	// Take, if set, is called before about n more bytes are held. If it returns false,
	// nothing more is kept, as beyond Limit. A negative n returns bytes.
	Take func(n int) bool
	// Framing is how the stream is divided: NewStreamReader sets what is usual for the protocol.
	// It must not change once something is written.
	Framing Framing

	format   Format
	stream   protocol.Stream
	result   protocol.Reply // of the last call of Reply
	assembly protocol.Assembly
	frame    frameState
	lost     bool // an event could not be read

	doc     rawjson.Doc
	line    []byte // a line that continues in the next Write
	event   []byte // the name of the current event
	data    []byte // its data lines
	hasData bool
	begun   bool // the first line is complete
	within  bool // a line has begun, even if none of it was kept
	afterCR bool
	cut     bool // the current event exceeds Limit and is skipped
	early   bool // the current event was read before its end, by Reply
}

// NewStreamReader returns a reader for a stream of a protocol's events; those of Chat for a
// format that is no protocol's.
func NewStreamReader(f Format) *StreamReader {
	if !f.IsProtocol() {
		f = Chat
	}
	p := f.Protocol()
	framing, _ := FramingOf(p.StreamType)
	return &StreamReader{format: f, assembly: p.NewStream(), Framing: framing}
}

// Reply returns the reply as received so far. It is meant for the end of the stream and
// takes time proportional to what arrived. Later writes do not change the result.
func (r *StreamReader) Reply() *Reply {
	r.readUnfinished()
	r.result = r.stream.Reply
	reply := &r.result
	reply.Notes = append([]string(nil), reply.Notes...)
	replied := r.assembly.Write(reply)
	if r.stream.Over {
		reply.Note("over the limit of bytes: the rest was not kept", nil)
	}
	reply.Complete = replied && r.stream.Ended && !reply.Pending && !r.stream.Over && !r.lost && reply.Error == nil
	out := replyOf(r.format, reply)
	return &out
}

// Write processes the next bytes of the stream, split anywhere.
func (r *StreamReader) Write(p []byte) (int, error) {
	if r.Framing == Frames {
		r.writeFrames(p)
		return len(p), nil
	}
	pos, lf, cr := 0, -1, -1
	if r.afterCR && len(p) > 0 {
		r.afterCR = false
		if p[0] == '\n' {
			pos = 1
		}
	}
	for pos < len(p) {
		// Each is searched again only after it was passed, so the total is linear.
		lf, cr = next(p, '\n', lf, pos), next(p, '\r', cr, pos)
		end := min(lf, cr)
		if end == len(p) {
			r.begin(p[pos:])
			break
		}
		r.endLine(p[pos:end])
		pos = end + 1
		if end == cr {
			if pos == len(p) {
				r.afterCR = true
			} else if p[pos] == '\n' {
				pos++
			}
		}
	}
	return len(p), nil
}

// next returns the first position of b in p at or after pos, or len(p). known is the
// previous result.
func next(p []byte, b byte, known, pos int) int {
	if known >= pos {
		return known
	}
	if i := bytes.IndexByte(p[pos:], b); i >= 0 {
		return pos + i
	}
	return len(p)
}

// begin keeps the first part of an incomplete line.
func (r *StreamReader) begin(piece []byte) {
	r.within = true
	if r.fits(len(r.line) + len(piece)) {
		r.line = r.extend(r.line, piece)
	}
}

// fits reports whether a line or the data of the current event may have n bytes.
func (r *StreamReader) fits(n int) bool {
	if n > r.limit() {
		r.passOver()
	}
	return !r.cut
}

// passOver skips the current event, and with it the rest of the reply.
func (r *StreamReader) passOver() {
	r.cut, r.stream.Over = true, true
	r.freeBuffers()
}

// freeBuffers gives back the memory of line and data.
func (r *StreamReader) freeBuffers() {
	r.line, r.data = nil, nil
	r.stream.Return()
}

// extend appends to line or data.
func (r *StreamReader) extend(dst, p []byte) []byte {
	if need := len(dst) + len(p); need > cap(dst) {
		size := max(2*cap(dst), need, 512)
		r.account()
		if !r.stream.Grants(size - cap(dst)) {
			r.passOver()
			return nil
		}
		dst = append(make([]byte, 0, size), dst...)
	}
	return append(dst, p...)
}

// Over reports whether the reply exceeded what may be kept.
func (r *StreamReader) Over() bool { return r.stream.Over }

// Kept returns the number of bytes kept so far.
func (r *StreamReader) Kept() int { return r.stream.Kept }

// account sets the limits of the stream.
func (r *StreamReader) account() {
	r.stream.Limit, r.stream.Take, r.stream.Buffered = r.limit(), r.Take, cap(r.line)+cap(r.data)
}

func (r *StreamReader) limit() int {
	if r.Limit > 0 {
		return r.Limit
	}
	return DefaultStreamLimit
}

func (r *StreamReader) endLine(piece []byte) {
	line, own := piece, r.within
	if own {
		r.begin(piece)
		r.within = false
		line, r.line = r.line, r.line[:0]
	} else if len(line) == 0 {
		r.begun = true
		r.endEvent()
		return
	}
	if !r.fits(len(line)) {
		return
	}
	line = r.trimMark(line)
	r.begun = true
	if len(line) == 0 {
		r.endEvent()
		return
	}
	if r.Framing == Lines {
		r.addData(line)
		r.endEvent()
		return
	}
	switch name, value := cutLine(line); string(name) {
	case "data":
		if own && len(value) > largeBuffer && !r.hasData {
			// Swap instead of copying: the line's buffer becomes the data's.
			r.data, r.line, r.hasData = value, r.data[:0], true
			return
		}
		r.addData(value)
	case "event":
		r.event = append(r.event[:0], value...)
	}
}

// trimMark removes a byte order mark from the first line.
func (r *StreamReader) trimMark(line []byte) []byte {
	if r.begun {
		return line
	}
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}

// cutLine splits a line into field and value. A comment has no field.
func cutLine(line []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return name, value
}

// largeBuffer is the size from which buffers of lines and data are not reused.
const largeBuffer = 1 << 20

func (r *StreamReader) addData(value []byte) {
	if !r.fits(len(r.data) + 1 + len(value)) {
		return
	}
	if r.hasData {
		r.data = append(r.data, '\n')
	}
	r.hasData = true
	r.data = r.extend(r.data, value)
}

// endEvent reads the event whose lines are complete.
func (r *StreamReader) endEvent() {
	if len(r.data) > 0 && !r.cut && !r.early && !r.readEvent(r.event, r.data) {
		r.stream.Reply.Note("an event is not JSON", nil)
		r.lost = r.lost || r.data[0] == '{' // other text carries nothing
	}
	r.event, r.data, r.hasData = r.event[:0], r.data[:0], false
	r.cut, r.early = false, false
	if cap(r.data) > largeBuffer || cap(r.line) > largeBuffer {
		r.freeBuffers()
	}
}

// readUnfinished reads a last event that lacks its line ends if its JSON is complete.
func (r *StreamReader) readUnfinished() {
	if r.cut || r.early || r.Framing == Frames {
		return
	}
	data, event := r.data, r.event
	if r.Framing == Lines {
		data = r.trimMark(r.line)
	} else if name, value := cutLine(r.trimMark(r.line)); string(name) == "data" {
		if r.hasData {
			value = slices.Concat(data, []byte{'\n'}, value)
		}
		data = value
	}
	r.early = r.readEvent(event, data)
}

var done = []byte("[DONE]")

// readEvent reads one event; it returns false if the data belongs to no protocol.
func (r *StreamReader) readEvent(name, data []byte) bool {
	limits := rawjson.Limits{Bytes: 2 * r.limit(), Values: protocol.MaxValues} // mend may lengthen the data
	err := r.doc.Reset(data, limits)
	if err != nil && len(data) > 0 && data[0] == '{' {
		err = r.doc.Reset(mend(data), limits)
	}
	if err != nil {
		if bytes.Equal(bytes.TrimSpace(data), done) {
			r.assembly.Done(&r.stream)
			return true
		}
		return false
	}
	root := r.doc.Root()
	if root.Kind() != rawjson.Object {
		return false
	}
	r.account()
	r.assembly.Read(&r.stream, name, root)
	return true
}

// mend returns JSON with U+FFFD in place of invalid UTF-8 and unpaired surrogates, as
// clients read it. Servers split both where a token ends.
func mend(data []byte) []byte {
	data = bytes.ToValidUTF8(bytes.Clone(data), []byte("\ufffd"))
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		switch half := surrogate(data[i:]); {
		case half == 0:
			i++ // skip the escaped character
		case half < 0xdc00 && surrogate(data[i+6:]) >= 0xdc00:
			i += 11
		default:
			copy(data[i:], `\ufffd`)
			i += 5
		}
	}
	return data
}

// surrogate returns the escaped surrogate half at the start of s, or 0.
func surrogate(s []byte) uint64 {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' || s[2]|0x20 != 'd' {
		return 0
	}
	half, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil || half < 0xd800 {
		return 0
	}
	return half
}
