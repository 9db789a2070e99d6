/*
Package embed turns texts into vectors whose distance reflects how close the texts are in
meaning.

[Model] is the interface of a source of vectors. There are two: embed/minilm computes
them in this process, and embed/remote requests them from any server that speaks OpenAI's
protocol. [Cache] can stand in front of either, for queries that repeat; package recall
uses one.

# What a Model guarantees

  - It returns one vector per text, in the texts' order, all of the same dimension.
  - Every vector has length 1, so that the dot product of two is their cosine.
  - Its Name changes with everything that changes its vectors. Vectors stored under
    another name are useless and are never compared.

# Caveats

A vector captures what a text is about, not what it asserts: "the test passes" and "the
test fails" are close together. Keyword search is better for names, numbers and ids.
*/
package embed
