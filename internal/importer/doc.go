/*
Package importer imports recorded conversations into a timeline: files of coding agents
(Claude Code, Codex, Gemini CLI, Qwen Code, opencode, Kilo Code, Cline, Copilot CLI, Continue,
Pi, Goose, Crush, aider), exports of ChatGPT and Claude, request bodies of three protocols,
generic lines, and the data sets LoCoMo, BEAM and tau-bench. It detects a file's format from its content.

# What it guarantees

Raw is verbatim. In line formats (claude-code, codex, qwen-code, pi, copilot-cli, generic) each line is one
message, without its line feed, in the order of the file; lines of a session that are not
messages get the role timeline.RoleMeta. A session can therefore be exported byte for byte, except for
blank lines, lines that are not JSON objects, and a missing line feed at the end, which is
added. In other formats the bytes of each message or turn are kept; a message of
opencode, Goose and Crush is made of the bytes of its files, or of its rows in the database.

Importing a file again adds nothing. A message is identified by timeline.Identity and by
its own id, if it has one: two lines with different ids are different messages, so that an
id always finds its own line. Messages that an earlier version of this package parsed
differently keep their identity, if their bytes are the same. A file that has grown adds
its new part; an older copy changes nothing; an edited file becomes a branch, and the
conversation's head moves there after the whole file has been read, so that a failed
import leaves it where it was. If a line has the identity of a known message but other
bytes, its bytes are kept as the conversation's own form (OwnForms).

Others may use the conversation during an import. If they continue it, the head stays
theirs unless the file contains everything that they wrote, and the import becomes a
branch (Conversation.Branch).

Broken lines are reported and skipped; everything else is imported.

A session that Oriel recorded is imported into the conversation where it was recorded: as a
branch, while the head stays where the calls are (Conversation.Recorded). If it was recorded
under another name, it is recognised by the ids of its tool calls and by what was said, about
the same time; a copy under its own name, imported before it was recorded, is deleted unless
somebody has attached a note to it or it has messages that the file no longer has.

# Memory

A file of lines is read line by line and written in batches of 500 messages or 4 MiB. A
line may have up to 256 MiB. For other files one body, LoCoMo sample, BEAM batch or message
of a database is held in memory at a time, of up to 256 MiB too. A session of Gemini CLI is
held whole, because later lines replace messages of earlier ones; messages beyond 1 GiB are
left out and reported. A database with views or generated columns in place of opencode's is
refused.
*/
package importer
