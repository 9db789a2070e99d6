// Package eventstream writes streams as Amazon Bedrock does: frames of the media type
// application/vnd.amazon.eventstream. It shares no code with the reader in package wire.
package eventstream

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
)

// MediaType is the media type of a stream of frames.
const MediaType = "application/vnd.amazon.eventstream"

// Append appends the frame of an event with a JSON payload.
func Append(dst []byte, name string, payload []byte) []byte {
	return frame(dst, payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

// AppendChunk appends the frame in which InvokeModelWithResponseStream sends an event of the
// model's own protocol. Amazon pads the payload, so that its size does not tell the text.
func AppendChunk(dst, event []byte) []byte {
	payload, err := json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString(event), "p": "abcdefgh"})
	if err != nil {
		panic(err) // two strings
	}
	return Append(dst, "chunk", payload)
}

// AppendException appends the frame of an exception that the service models.
func AppendException(dst []byte, name, message string) []byte {
	payload, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		panic(err) // a string
	}
	return frame(dst, payload, ":exception-type", name, ":content-type", "application/json", ":message-type",
		"exception")
}

// AppendError appends the frame of an error that the service does not model.
func AppendError(dst []byte, code, message string) []byte {
	return frame(dst, nil, ":error-code", code, ":error-message", message, ":message-type", "error")
}

func frame(dst, payload []byte, headers ...string) []byte {
	const text = 7 // the type of a header's value
	var h bytes.Buffer
	for i := 0; i < len(headers); i += 2 {
		h.WriteByte(byte(len(headers[i])))
		h.WriteString(headers[i])
		h.WriteByte(text)
		binary.Write(&h, binary.BigEndian, uint16(len(headers[i+1])))
		h.WriteString(headers[i+1])
	}
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+4+4+h.Len()+len(payload)+4))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Len()))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
	dst = append(append(dst, h.Bytes()...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
}
