/*
Package sqlite is a timeline.Store in one SQLite file, oriel.db, in a data folder.
docs/format/timeline.md describes the file.

# What it guarantees

What Apply acknowledged survives the death of the process at any moment, and with
Full the loss of power. Changes of callers that wait at the same time are committed
together; each is still made wholly or not at all. Any number of processes and of
Stores may use the same folder. Contents are compressed where that makes them
smaller. What Delete removes is overwritten in the file and goes from its log, as soon
as nobody reads an older state; until then Deleted and Stats call it pending.

# What it does not

A long Messages visit holds a snapshot, during which the write-ahead log cannot
shrink and deleted bytes stay in it. Opening finds a file that is not a history, cut
short or newer; damage in the middle of one is found by who reads it, and by Verify.
Network file systems that do not lock like local
ones damage any SQLite file. There is no encryption: the folder's mode is the guard.
*/
package sqlite
