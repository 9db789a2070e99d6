/*
Package mcp lets agents search and read their history over the Model Context Protocol. The
tools are recall, read, list_conversations, directives, change_directive, pin, unpin and
undo; conversations are also resources.

[New] makes a server for one client, over any transport; [Handler] serves clients over
streamable HTTP. A server belongs to one tenant and reads nothing of others. Where the
conversation of the agent that calls is known, it is the default of every tool.

# What it guarantees

  - An answer says whether it is complete, and how to read more if it is not: an agent
    repeats a call whose answer looks cut off.
  - An answer has at most maxText bytes of text, and recall at most as many tokens as its
    budget, whatever the history has.
  - Text of the history is quoted with its source (package quote), in the text and in the
    structured form of an answer, because agents show their model one or the other.
  - A failure is the error of a tool that says what to do. It ends no session.
  - A private conversation is listed, read and changed by its own agent only.
  - With Options.ReadOnly there is no tool that changes anything.

# Caveats

A model may follow what it reads in a quotation. Pins and undone plans take effect with the
conversation's next call.
*/
package mcp
