package bedrock

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// MediaType is the media type of a stream of frames.
const MediaType = "application/vnd.amazon.eventstream"

// A frame is its size and the size of its headers, each in four bytes with the highest first; the
// CRC-32 of these eight bytes; the headers; the payload; and the CRC-32 of all before it.
const (
	// Prelude is the size of the beginning of a frame, from which Size reads the size of the whole.
	Prelude  = 12
	checksum = 4
)

// Frame is one event, or one error, of a stream.
type Frame struct {
	// Name is the name of the event, or the code of the error.
	Name string
	// Failed reports that the frame is an error.
	Failed bool
	// Payload is a JSON text. It points into the frame.
	Payload []byte
	// Message is what an error says that has no payload.
	Message string
}

// Both errors mean that a stream was damaged on its way.
var (
	errPrelude = errors.New("the beginning of a frame is damaged")
	errFrame   = errors.New("a frame is damaged")
)

// Size returns the size of the frame that begins with a prelude. Behind an error nothing tells
// where the next frame begins.
func Size(prelude []byte) (int, error) {
	size, headers := binary.BigEndian.Uint32(prelude), binary.BigEndian.Uint32(prelude[4:])
	if crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]) || size < Prelude+checksum ||
		headers > size-Prelude-checksum || size > 1<<31-1 {
		return 0, errPrelude
	}
	return int(size), nil
}

// Parse reads a frame of the size that Size returned.
func Parse(frame []byte) (Frame, error) {
	end := len(frame) - checksum
	if crc32.ChecksumIEEE(frame[:end]) != binary.BigEndian.Uint32(frame[end:]) {
		return Frame{}, errFrame
	}
	headers := int(binary.BigEndian.Uint32(frame[4:]))
	f := Frame{Payload: frame[Prelude+headers : end]}
	return f, f.read(frame[Prelude : Prelude+headers])
}

// sizes has the size of a header's value by its type: true, false, a byte, numbers of two, four
// and eight bytes, bytes, a text, a time and a UUID. Bytes and texts begin with their size.
var sizes = [...]int{0, 0, 1, 2, 4, 8, sized, sized, 8, 16}

const sized = -1

// read reads the headers: each is the size of its name, the name, a type and a value.
func (f *Frame) read(headers []byte) error {
	for len(headers) > 0 {
		n := int(headers[0])
		if len(headers) < 1+n+1 {
			return errFrame
		}
		name, kind := headers[1:1+n], headers[1+n]
		headers = headers[n+2:]
		if int(kind) >= len(sizes) {
			return errFrame
		}
		size := sizes[kind]
		if size == sized {
			if len(headers) < 2 {
				return errFrame
			}
			size = int(binary.BigEndian.Uint16(headers))
			headers = headers[2:]
		}
		if len(headers) < size {
			return errFrame
		}
		value := headers[:size]
		headers = headers[size:]
		switch string(name) {
		case ":message-type":
			f.Failed = string(value) != "event"
		case ":event-type", ":exception-type", ":error-code":
			f.Name = string(value)
		case ":error-message":
			f.Message = string(value)
		}
	}
	return nil
}
