/*
Package items keeps the window of a conversation whose messages a program adds one by
one. Package window does the same for request bodies. Programs use items through package
oriel.

  - A [Window] holds items within a token limit and an item limit. Both limits hold after
    every operation. Items are evicted by relevance or by age; every operation returns the
    items that it evicted.
  - A [Tracker] follows what a conversation is about, and a [Sizer] how large its window
    should be.
  - [Assemble] writes the text that a model reads: recent items, relevant items, the query.

Nothing here stores an item after its eviction. The caller keeps the history.
*/
package items
