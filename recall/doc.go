/*
Package recall searches the history of a conversation for what a query needs, by words
and by meaning, and packs the hits into a token budget.

A [Scope] is an index over messages. A [Reader] turns entries of a history into messages,
and a [Library] keeps the scopes of a store's conversations. Scope.Add indexes words at
once; Scope.Embed makes the vectors in the background, and until they exist recall uses
words alone. Scope.Recall is the whole search; Scope.Rank and Ranking.Pack are its halves.

Each stage has its own file: passages (passage.go, read.go), the kind of query
(question.go), words (lexical.go), meaning (dense.go), the messages beside a passage
(neighbours.go), its author and date (prior.go, date.go), standing instructions
(directive.go), questions about a whole conversation (cover.go), conversations that are
nearer than others (conversation.go), the sum (score.go), how much is known to be relevant
(certainty.go, line.go) and packing (pack.go).
docs/reference/retrieval.md measures what each contributes. Texts are held compressed in memory
(texts.go).

# What it guarantees

  - The text of a result has at most as many tokens as the budget, counted over all of
    it, including headers and names. It is in chronological order.
  - Every line of a passage is marked as quoted, under its author's role or name and
    its date, and nothing in it reads as another author's words (package quote). With
    the quoting undone it is the original text, character by character; adjacent
    passages are joined again.
  - The same messages, added in the same order, and the same query give the same
    result, whatever else happens at the time.
  - Nothing below the floor is shown, and little if it is uncertain whether the scope
    holds anything relevant: most questions that are unrelated to it return nothing.

# Caveats

The score is made for English. Other languages are found by their words and vectors, but
kinds of queries, dates and directives are not recognised. A scope holds its texts in
memory, and a removed message keeps its number and the place of its vector: make a new
scope if many messages were removed. Without vectors the floor separates related from
unrelated questions much less well.
*/
package recall
