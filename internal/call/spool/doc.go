/*
Package spool keeps what a store does not accept now in files on this machine's disk, until
the store accepts it.

A spool is a queue of entries. An entry that Append has accepted survives the death of the
process at any moment; with Options.Sync, the loss of power as well. Entries come back in
their order, and each until it is done: an entry may come back that was written to the store
before, if the process died in between, so writing one twice must do no harm.

The folder may be shared by several processes. Each writes files of its own, which it has
locked. Open takes over the files of processes that are gone; their entries come first. The
files of all entries that are there are bounded (Options.MaxBytes), and Append refuses what
does not fit. Bytes that several entries of a file share are there once.

docs/reference/format/spool.md describes the files.
*/
package spool
