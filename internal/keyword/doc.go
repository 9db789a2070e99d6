// Package keyword finds passages by the words they share with a query: an
// index in memory that grows and shrinks, ranked by BM25.
//
// # What it guarantees
//
// The score of a document is the sum, over the distinct terms of the query, of
// idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75*length/mean length)), with
// idf = ln(1 + (N-df+0.5)/(df+0.5)). N, df and the mean length are always those
// of the documents that are there now: neither additions nor removals leave
// anything to be refreshed. Scores are float32, within a few parts in a million
// of the formula.
//
// The terms of English text are words in lower case without stop words, lightly
// stemmed. These count towards the length of a document. Further terms only
// find it:
//
//   - identifiers and paths whole, and a path's elements that are joined
//     themselves: internal/http2/flow_control.go gives that, flow_control.go
//     and flow_control besides its words; so do 2023-05-08, 3.14 and v1.2.3;
//   - the parts of names in camel case;
//   - a word in quotes without them, and what follows an elided article;
//   - the first seven digits of a hexadecimal name.
//
// Words are letters, digits and marks of any script. Latin, Greek and Cyrillic
// letters lose their diacritics. Chinese, Japanese, Korean, Thai, Lao, Khmer
// and Burmese give each pair of neighbouring characters; a Chinese character
// also stands alone, as a term that does not count.
//
// One Index serves one or several writers and any number of readers at a time.
//
// # Caveats
//
// Data in base64 and the like, from 64 characters without a break, is skipped.
// A term counts at most 63 times in one document, and a document's length is at
// most 65,534; an index holds 67 million documents over its life, removed ones
// included. Their numbers are not used again: a removed document keeps two
// bytes. Removing is quick, but once in a while it rewrites the index (about
// 50 ms for 100,000 documents of 60 words), and readers wait for it.
//
// Terms are hashes: the index cannot list its words.
package keyword
