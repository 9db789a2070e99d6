/*
Package importer brings recorded conversations into a timeline: sessions of Claude
Code, request bodies of three protocols, a generic form of lines, and the data sets
LoCoMo and BEAM. The content of a file tells which it is.

# What it guarantees

Raw is verbatim. Of files of lines (claude-code, generic) each line is one message
as it stands, without its line feed, in the order of the file; lines of a session
that are no messages are kept too, with the role timeline.RoleMeta. So a session
can be written back byte for byte, except for blank lines, for lines that are no
JSON objects, and for a last line without line feed, which gets one. Of other files
each message's or turn's own bytes are kept.

Importing again adds nothing. A message is known by what it says (timeline.Identity)
and by its own id, where it has one: two lines with different ids are different
messages, for an id that is handed out must find its own line. A file that has grown
adds what is new; an older copy of it changes nothing; one that was edited becomes a
branch, and the conversation goes on there once the file has been read: an import
that dies leaves it where it was. Where a line says the same as one that
is known and has other bytes, its bytes are kept as the conversation's own form of
it (OwnForms).

Others may use the conversation meanwhile. Where they go on with it, what they were
told stays true: the conversation stays theirs unless the file has all that they
wrote, and what was imported is a branch of it (Conversation.Branch).

Broken lines are reported and left out; everything else is imported.

# Memory

A file of lines is read line by line, and written in batches of 500 messages or
4 MiB. A line may have 256 MiB. Of other files one body, LoCoMo sample or BEAM batch
is held at a time.
*/
package importer
