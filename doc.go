// Package oriel keeps a language-model agent's context bounded without losing its
// history: history is append-only, a window is a view of it, and a plan says how
// the view was made.
//
// The rooms below are usable on their own: chat has the message model and the
// legal cuts, wire reads and writes request bodies byte for byte, token counts
// and knows the models. docs/architecture.md draws the whole.
package oriel
