/*
Package wire reads request bodies of seven protocols into chat messages and writes
them back: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses, Gemini and
Gemini's Interactions, Ollama's own and Amazon Bedrock's Converse.
It reads replies to them, whole (ReadReply) and streamed (StreamReader). It also reads
and writes agent trajectories (Trajectory), which are dictionaries and not requests.

# Protocols

A table has a row for each protocol, whose value comes from a folder of its own below
internal: Format.Protocol returns it. What another package has to know of a protocol is a
part of that value, so that no package compares formats.

# What it guarantees

Bytes are preserved. A body is scanned once, and every message keeps its byte range.
Body.Write splices: it copies what stays verbatim, including white space, key order,
escapes, number forms, duplicate keys and unknown fields. If nothing changes, Write
returns the original slice. Everything outside the list of messages is always copied
verbatim.

Unknown data is not lost. Fields, part types and item types that this version does not
know keep their raw bytes; an unknown part is chat.Unknown.

# What it refuses

A body that is not JSON, or whose known fields have the wrong type, is refused with an
*Error that names the field and the byte offset: "messages[3].content[1].tool_use_id: want
a string, got a number (byte 5120)". Two lists of messages in one body are refused too,
because it is unknown which one the provider reads. A refused body is not parsed; the
caller may still forward its bytes.

Roles, models and limits are not checked: providers add new ones, and it is up to the
provider to refuse a wrong one.

# Replies

Readers work on a copy of a reply; nothing here comes between a provider and a client.
They are therefore lenient, while readers of requests are strict: a deviation from the
protocol is read as intended if the intent is clear, and noted if it is not.
docs/reference/format/replies.md says what is kept of each event.

# Memory

Reading holds the body, 12 bytes for each JSON value in it, and the message structures,
which point into the body: 180 bytes for a part. Limits bound all three. Without
Limits.Parts, a body of nothing but the smallest parts, two million of them, takes about
400 MB; with MaxParts it is refused at the 65,537th. A streamed reply takes up to
StreamReader.Limit, plus its largest event.
*/
package wire
