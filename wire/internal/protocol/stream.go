package protocol

import "github.com/oriel-context/oriel/internal/rawjson"

// Stream is a streamed reply as far as it came. It bounds what is kept: once something does
// not fit, nothing more is kept, so that there are no gaps.
type Stream struct {
	// Reply receives what events say. Assembly.Write adds the message or the items.
	Reply Reply
	// Ended reports that the protocol's last event was seen.
	Ended bool
	// Kept is the number of bytes kept; what is dropped or counted twice is subtracted.
	Kept int
	// Over reports that something did not fit.
	Over bool

	// Limit bounds Kept. Take, if set, is asked for memory before about n more bytes are
	// held; a negative n returns bytes.
	Limit int
	Take  func(n int) bool
	// Buffered is the size of the buffers for incomplete events.
	Buffered int
	granted  int // by Take
}

// Assembly combines the events of one stream.
type Assembly interface {
	// Read reads one event, which is an object, and its name, which may be empty. Both are
	// invalid afterwards. An unknown event is noted.
	Read(s *Stream, name []byte, event rawjson.Value)
	// Done reads the text [DONE] in place of an event. Gateways add it to streams of other
	// protocols, too, at any point.
	Done(s *Stream)
	// Write stores the message or the items that have come in a reply, and reports whether
	// there is a reply. Reading may go on afterwards.
	Write(r *Reply) bool
}

// Structure is the accounted cost of a block, call, item or part besides its bytes.
const Structure = 256

// Room reports whether n more bytes may be kept, and counts them.
func (s *Stream) Room(n int) bool {
	if s.Over || s.Kept+n > s.Limit || !s.Grants(n) {
		s.Over = true
		return false
	}
	s.Kept += n
	return true
}

// Grants reports whether n more bytes may be held.
func (s *Stream) Grants(n int) bool {
	const first, step = 16 << 10, 1 << 20
	need := s.Kept + s.Buffered + n
	if need <= s.granted || s.Take == nil {
		return true
	}
	more := max(need-s.granted, min(max(s.granted, first), step))
	if !s.Take(more) {
		return false
	}
	s.granted += more
	return true
}

// Return gives back the memory that is not kept.
func (s *Stream) Return() {
	if back := s.granted - s.Kept; back > 0 {
		s.Take(-back)
		s.granted = s.Kept
	}
}

// Keep appends b to kept bytes.
func (s *Stream) Keep(dst, b []byte) []byte {
	if len(b) == 0 || !s.Room(len(b)) {
		return dst
	}
	return append(dst, b...)
}

// KeepElement appends a list element to kept bytes.
func (s *Stream) KeepElement(dst, b []byte) []byte {
	if len(b) == 0 || !s.Room(len(b)+1) {
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	return append(dst, b...)
}

// Fail stores the first error.
func (s *Stream) Fail(e *ReplyError) {
	if s.Reply.Error == nil && e != nil {
		s.Reply.Error = e
	}
}

// Newest returns the latest element with an index: servers do not always count from 0,
// and may use an index twice.
func Newest[T interface{ Index() int64 }](list []T, index int64) (found T) {
	const reach = 128
	for i := len(list) - 1; i >= max(0, len(list)-reach); i-- {
		if list[i].Index() == index {
			return list[i]
		}
	}
	return found
}
