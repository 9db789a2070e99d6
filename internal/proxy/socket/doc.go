// Package socket reads the messages of Responses over WebSocket and holds what one connection has
// said, so that its calls can be handled like those over HTTP.
//
// A client sends events of the type response.create, whose other members are those of the body
// of POST /v1/responses, and gets the events of a stream, one a message. A call that names the
// response before it by previous_response_id has only what is new in its input: the provider
// holds the rest. History therefore holds the input and the output of a connection's responses,
// and a Turn is one call: its Body is the whole request, and Message what is sent for the body that
// an engine makes of it:
//
//   - the client's message, byte for byte, if the provider then has exactly that body;
//   - the new items behind the same response, if the engine changed only those;
//   - otherwise a whole request that begins a new chain. The ids of later messages refer to
//     responses of that chain, because the client has them from the provider.
//
// # Caveats
//
// What the provider alone holds is not known: a response of another connection, one whose
// message was not read, or one that is older than the last maxResponses. A Turn that continues
// such a response has the client's body, previous_response_id included. Responses to which
// input was added by other events, such as response.steer, are unknown too: see Forget.
package socket
