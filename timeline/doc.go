/*
Package timeline stores the history: every message of agents and people, once, verbatim,
until it is deleted.

# What it is

Messages form a tree of trunks. A rewind or an edit begins a branch, and histories that
begin alike share their beginning. A conversation is a name for a place in that tree.
Everything else (plans, pins, calls) is a record that belongs to a conversation or a
place. docs/reference/format/timeline.md defines the terms and the format on disk.

# What it guarantees

Bytes are returned as received, even if the same message arrived in several forms. No
acknowledged change is lost. A change is applied completely or not at all. Tenants never
see each other's history, nor can they learn whether another tenant has a content. Deleted
data is removed.

Store is the interface to a database; timeline/memory and timeline/sqlite implement it.
This package does not assume that it is the only writer.
*/
package timeline
