// Package protocol is what the folders of the protocols share: readers of JSON values that
// name the field of an error, and later the value that describes a protocol.
//
// It knows no protocol.
package protocol
