/*
Package report reads histories for people: which conversation, call or plan they mean, what
a conversation is about, what a message says, what a plan left out, and which body went to a
model. It has the one JSON form of a conversation, a call, a plan, a message and an undo, which the
API, the command line and, in part, MCP share.

It only reads, and it reads no more than it is asked for. Texts are as they were said: a
caller that prints them to a terminal removes control characters.
*/
package report
