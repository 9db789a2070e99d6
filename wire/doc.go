/*
Package wire reads request bodies of the three protocols into chat messages and
writes them back: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses.
It reads replies to them, whole (ReadReply) and streamed (StreamReader). It also reads
and writes agent trajectories (Trajectory), which are dictionaries and not requests.

# What it guarantees

Bytes are sacred. A body is scanned once; every message keeps its byte range in
it. Body.Write splices: what stays is copied as it came, white space, key order,
escapes, number forms, duplicate keys and unknown fields included. When nothing
changes, Write returns the very body that was read. Everything outside the list of
messages is copied as it came in any case.

Nothing is lost by not being understood. Fields, part types and item types that
this version does not know are carried by their raw bytes; an unknown part is
chat.Unknown.

# What it refuses

A body that is no JSON, or whose known fields have another type than the protocol
gives them, is refused with an *Error that names the field and the byte offset:
"messages[3].content[1].tool_use_id: want a string, got a number (byte 5120)".
Two lists of messages in one body are refused too, since nobody can say which one
the provider will read. Refused means: not read. The caller still has the bytes and
may pass them on.

Roles, models and limits are not judged here: providers add to them, and a body
that is wrong in that way is for the provider to refuse.

# Replies

A reply is read for its copy: nothing here stands between a provider and a client. So
readers of replies are lenient where readers of requests are strict: what a server does
otherwise than the protocol says is read as it was meant where that is plain, and noted
where it is not. docs/format/replies.md says what is kept of each event.

# Memory

Reading holds the body, 12 bytes for each JSON value in it, and the message
structures, which point into the body: 180 bytes for a part. Limits bound all three.
Without Limits.Parts, a body of nothing but the smallest parts, two million of them,
takes about 400 MB; with MaxParts it is refused for its 65,537th.
A streamed reply is kept up to StreamReader.Limit, its largest event beside it.
*/
package wire
