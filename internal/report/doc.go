/*
Package report reads histories for people: which conversation, call or plan they mean, what
a conversation is about, what a message says, what a plan left out, and which body went to a
model. The command line draws what it returns; a server can return it as JSON.

It only reads, and it reads no more than it is asked for. Texts are as they were said: a
caller that prints them to a terminal removes control characters.
*/
package report
