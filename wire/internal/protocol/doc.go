// Package protocol says what a protocol is: one value, with a part for everything that Oriel
// reads, changes or writes of it. The folder of each protocol fills one in, and package wire
// has a table of them.
//
// It also has what the folders share: readers of JSON values whose errors name the field
// and the byte, an editor that splices, a writer, and the accounts of a streamed reply. It
// knows no protocol itself.
package protocol
