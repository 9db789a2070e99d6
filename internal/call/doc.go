// Package call handles requests on their way to a model, with their replies. An Engine finds
// the conversation that a request continues, decides what is sent of it, offers something
// else if the provider refuses that, reads the reply, and records all of it. Engine.Begin
// returns a Call, which goes through these steps; a conversation of calls is a Recorded.
//
// A call never fails because of an engine: what goes wrong is an event, and the best that is
// left is sent. A call can be shown again byte for byte (docs/reference/format/calls.md). No key is
// stored. What a call may wait for is bounded (Waits).
package call
