// Package record keeps what goes through the proxy: every call once, in the
// conversation that it belongs to (see package thread), with the model's reply.
//
// It works aside: what it needs before the answer is done while the provider is at
// work, and all writing in the background. When a call has ended, its messages, the
// reply and a record of the call are written in one transaction; docs/format/calls.md
// tells the form. A client that resends its history fills whatever could not be
// written.
//
// # Guarantees
//
// Whatever goes wrong here is an Event and changes nothing of the call. What waits to
// be written is bounded; beyond that calls are not recorded, and said so. No key is
// kept: of the request's header nothing is.
package record
