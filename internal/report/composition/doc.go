// Package composition shows what fills the window of a recorded call: how many tokens are
// the system prompt, tools, memory files, people's words, the model's words, thinking,
// results of tools, and what Oriel put in, which things are the largest, and which tools are
// sent with every call and never used.
//
// The kinds of a request add up to the tokens of the request, exactly. Counts are those of
// the model that was asked, corrected by what its provider reported.
package composition
