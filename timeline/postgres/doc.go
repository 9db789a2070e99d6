/*
Package postgres is a timeline.Store in a PostgreSQL database, for any number of
servers. docs/reference/format/postgres.md describes its tables.

# What it guarantees

An acknowledged change is committed: it survives what the database server survives.
Any number of processes may use the same tables. Changes of one conversation are
serialised by a lock on its row; changes of different conversations run in parallel.
Contents are compressed and stored once per tenant, as in timeline/sqlite. Every
statement names its tenant, and row-level security hides the rows of all others.

A change takes two round trips, a read one. Changed costs none: one connection of each
process listens for the notifications of the others. Notifications only save reading
again what has not changed; no answer is wrong because one was lost or late.

# What it does not

Deleted rows stay in the files of the server until it vacuums them, and in its
write-ahead log and backups for as long as those are kept. Backup is the matter of
pg_dump. A superuser, and a role with BYPASSRLS, is not held by row-level security.
*/
package postgres
