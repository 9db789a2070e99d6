/*
Package sqlite is a timeline.Store in one SQLite file, oriel.db, in a data folder.
docs/reference/format/timeline.md describes the file.

# What it guarantees

An acknowledged change survives the death of the process at any moment, and with
Full also a power failure. Changes of callers that wait at the same time are committed
together, and patient ones wait for that up to 5 ms after the last transaction; each is
still applied completely or not at all. Any number of processes and of
Stores may use the same folder. Contents are compressed if that makes them smaller.
Deleted bytes are overwritten in the file and removed from its log as soon as nobody
reads an older state; until then Deleted and Stats report them as pending.

# What it does not

A long Messages visit holds a snapshot; meanwhile the write-ahead log cannot shrink and
deleted bytes stay in it. Opening detects a file that is not a history, truncated or of
a newer version; reading and Verify detect damage in the middle. Network file systems
without proper locks damage any SQLite file. There is no encryption: the mode of the
folder protects it.
*/
package sqlite
