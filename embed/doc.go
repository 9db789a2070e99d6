/*
Package embed turns texts into vectors whose distance reflects how close the texts are in
meaning.

[Model] is what a source of vectors must be able to do; its folders hold the
sources: in this process (embed/minilm), and any server that speaks OpenAI's
protocol (embed/remote). [Cache] stands in front of any of them, for queries that come
again; package recall has one.

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
