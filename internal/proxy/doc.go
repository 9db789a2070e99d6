// Package proxy is a transparent HTTP proxy between a program and its model's provider
// from which calls can be observed and changed.
//
// # What it guarantees
//
// A request is forwarded with its exact body, query, path after the base URL, and
// headers; the answer is returned the same way, part by part as the provider sends it.
// The exceptions are what belongs to each connection (hop-by-hop headers, framing, the
// spelling of header names), the Host, and Oriel's own headers, which are never forwarded
// in either direction.
//
// No fault of Oriel breaks a call. A body that is too large or unreadable passes through
// unseen. A call for which the engine panics or is stuck continues without it, after at most
// Engine.BeginWait before it is sent and Options.ReplyTimeout after that.
//
// Nothing is sent twice, because a model that was asked may be at work.
//
// Memory is bounded: by Options.BufferLimit for bodies, including decoded ones and those
// of abandoned calls, and for what the engine takes of Request.Memory; in addition, for
// each connection, by the header limit, two small buffers, and the windows of decoders (at
// most 16 MiB each) while a body is decoded. A body that the engine sends instead is not
// included.
//
// # Who may use it
//
// A Server on loopback serves this machine only, and only under names of this machine, so
// that no web page reaches it under its own name; foreign pages cannot use it unless
// Options.Origins lists them. Beyond loopback it requires a token of its own. Providers'
// keys are forwarded and neither stored nor logged.
//
// # Caveats
//
// Bodies that are signed or in another format (realtime sessions over WebSocket)
// pass through unrecorded. The header of an answer with a known length is sent with the
// first bytes of its body.
package proxy
