/*
Package timeline is the history: everything that agents and people said, stored
once, verbatim, for ever or until it is deleted.

# What it is

Messages hang under one another in trunks; a rewind or an edit begins a branch, and
histories that begin alike share their beginning. A conversation is a name for a
place in that tree. Everything else that is known (plans, pins, calls) is a record
that belongs to a conversation or a place. docs/format/timeline.md tells the words
and how they are kept on disk.

# What it guarantees

Bytes come back as they came, also when the same message came in several forms.
Nothing that was acknowledged is lost. A change happens wholly or not at all.
Tenants never see one another's history, not even by whether a content is there
already. What is deleted is gone.

Store is what this package needs of a database; timeline/memory and timeline/sqlite
are two. Nothing here assumes to be the only one that writes.
*/
package timeline
