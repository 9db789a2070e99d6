// Package term draws for people at a terminal: tables, bars, Markdown, the progress of long
// commands, numbers and prices. It also reads what they type, key by key. Texts of others go
// through Printable or OneLine first, which leave nothing in them that a terminal obeys. What
// is drawn for a writer that is not a terminal has no colours, and its lines may have any
// length.
package term
