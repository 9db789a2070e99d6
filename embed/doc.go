/*
Package embed turns texts into vectors whose distance says how close the texts are
in meaning.

[Model] is what a source of vectors must be able to do; its folders hold the
sources: in this process (embed/minilm), and any server that speaks OpenAI's
protocol (embed/remote). [Cache] stands in front of any of them, for queries that come
again.

# What a Model guarantees

  - One vector for each text, in the texts' order, all of the same length.
  - Every vector has length 1, so that the dot product of two is their cosine.
  - Its Name changes with everything that changes its vectors. Vectors that were
    kept under another name are of no use and are never compared.

# Caveats

A vector tells what a text is about, not what it says: "the test passes" and "the
test fails" lie close together. Names, numbers and ids are better found by word.
*/
package embed
