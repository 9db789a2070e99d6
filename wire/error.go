package wire

import "github.com/oriel-context/oriel/wire/internal/protocol"

// Error names the field of a body that could not be read (Path), the byte at which it or the
// fault in the JSON begins (Offset), and what is wrong and expected (Msg). TooMany reports
// that a body has more parts, messages, tools or members than Limits.Parts, or a reply more
// than MaxParts.
type Error = protocol.Error
