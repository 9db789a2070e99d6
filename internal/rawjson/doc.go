// Package rawjson validates a JSON text and records the byte range of every
// value in it, so that a caller can cut, keep and splice the text without
// changing a byte that it did not mean to change.
//
// # What is accepted
//
// Exactly RFC 8259, in UTF-8. A text is refused, with the offset of the first
// byte that is wrong, when it is truncated or has anything after its value;
// starts with a byte order mark; has a number such as 01, 1., .5, +1 or 1e; has
// a control character (NUL included) or an unknown escape in a string; has a
// \u escape that is half of a surrogate pair; or holds invalid UTF-8 (overlong
// forms, surrogate code points, code points over U+10FFFF, cut sequences).
// Lone surrogates are the one thing RFC 8259 leaves open: they have no UTF-8
// form, so a string that holds one cannot be decoded without damage.
// Duplicate member names are legal: Members shows them all, Get answers with
// the last one and Count tells how many there are.
//
// # What it costs
//
// One pass over the bytes and a tape of 12 bytes a value (a member's name
// counts as a value). There is no recursion, and [Limits] bound bytes, depth
// and values before memory is spent on them. A warm [Doc] parses without
// allocating; it keeps its tape and, once Reset has run a kernel, 6 kB of buffers.
// Nothing is decoded until it is asked for. A text that is refused is read twice
// up to its first wrong byte.
//
// # How it works
//
// The definition is the scalar parser in scalar.go: one loop over the bytes,
// eight at a time inside strings. On CPUs that allow it a kernel in assembly
// goes first: it reads blocks of 64 bytes, validates the insides of strings
// and lists the offsets of the brackets, colons, commas, quotes and first
// bytes of numbers and literals, from which a small loop checks the grammar
// and writes the tape. That path only ever answers "valid, and here is the
// tape". When it does not, the scalar parser runs and its answer is the answer,
// so errors are the same whichever kernel runs.
//
// # Caveats
//
// A Doc keeps the slice it was given: the caller must not change its bytes
// while the Doc or a Value of it is in use. Values are handles into the Doc's
// tape and are void after the next Reset. Reading a Doc from several
// goroutines is safe; Reset is not. A text over 2 GiB is refused whatever
// the limits say.
package rawjson
