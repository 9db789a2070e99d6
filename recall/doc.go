/*
Package recall finds in the history of a conversation what a query needs, by word and
by meaning, and packs it under a budget of tokens.

A [Scope] is an index over messages. [Reader] makes messages of a history's entries,
and a [Library] keeps the scopes of a store's conversations. Scope.Add indexes words at once;
Scope.Embed makes the vectors, in the background: until they are there, recall goes by
words. Scope.Recall is the whole search; Scope.Rank and Ranking.Pack are its halves.

The stages have a file each: passages (passage.go, read.go), the kind of query
(question.go), words (lexical.go), meaning (dense.go), what stands beside a passage
(neighbours.go), who said it and when (prior.go, date.go), standing instructions
(directive.go), questions about the whole (cover.go), the sum (score.go) and the
packing (pack.go). docs/retrieval.md tells what each brings. Texts lie compressed in
memory (texts.go).

# What it guarantees

  - The text of a result has at most as many tokens as the budget says, counted over
    all of it, headers and names included. It is in the order of time.
  - Every line of a passage is marked as quoted, under its author's role or name and
    its date, and nothing in it reads as another's words (package quote). Once that is
    undone it stands there as it was said, character by character; passages that touch
    are put together again.
  - The same messages, added in the same order, and the same query give the same
    result, whatever else happens at the time.
  - Nothing below the floor is shown, and little where it is not certain that the scope
    has anything to say: most questions that have nothing to do with it bring nothing.

# Caveats

The score is made for English: other languages are found by their words and vectors,
without the kind of query, dates and directives. A scope holds its texts in memory, and
what is removed leaves its number and its vector's place behind: make a new scope
where much was removed. Without vectors the floor tells related from unrelated much
less well.
*/
package recall
