// Package proxy stands between a program and its model's provider: a wire that is
// transparent, and a place from which the calls can be seen.
//
// # What it guarantees
//
// A request goes upstream with the very bytes of its body, its query and its path
// after the base URL, and with the headers that came; the answer comes back the same
// way, part by part as the provider sends it. What differs is what HTTP gives to each
// connection (hop-by-hop headers, framing, the spelling of header names), the Host, and
// Oriel's own headers, which never go upstream, nor come from there.
//
// Nothing of Oriel's own breaks a call. A body that is too large, or that nobody here
// can read, goes through unseen. A Recorder that fails, panics or is slow is left
// behind, at most Options.BeginTimeout or RecordTimeout later, and the call goes on.
//
// Nothing is tried twice: a model that was asked may be at work.
//
// Memory is bounded: by Options.BufferLimit for bodies, decoded ones and those that a
// Recorder was left behind with included, and for what a Recorder takes of Request.Memory;
// beside them, for each connection, by the header limit, two small buffers, and the
// windows of decoders (at most 16 MiB each) while a body is decoded. What a Recorder sends
// instead of a body is its own.
//
// # Who may use it
//
// A Server on loopback serves this machine, and only under names of this machine, so
// that no web page reaches it under a name of its own; pages of other machines send
// nothing through it unless Options.Origins has them. Anywhere else it wants a token of
// Oriel's. Providers' keys go through; they are neither kept nor logged.
//
// # Caveats
//
// Bodies that are signed or in another form (Bedrock, Vertex, sessions over WebSocket)
// go through and are not recorded. A header of an answer with a known length goes out
// with the first bytes of its body.
package proxy
