// Package record keeps what goes through the proxy: every call once, in the
// conversation that it belongs to (see package thread), with the model's reply.
//
// Before a call goes on, its conversation is found, in memory; what the store has to be
// asked for may come later. All writing is done in the background. When a call has
// ended, its messages are written, and then the reply with a record of the call;
// docs/format/calls.md tells the form. What cannot be written is tried again, and then
// given up: a client that resends its history fills it in.
//
// # Guarantees
//
// Whatever goes wrong here is an Event and changes nothing of the call. What waits to
// be written is bounded; beyond that calls are not recorded, and said so. No key is
// kept: of the request's header nothing is, and of its body not what lets a provider
// into the servers of tools.
package record
