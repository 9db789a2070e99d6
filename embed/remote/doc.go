/*
Package remote asks a server for vectors: OpenAI, or any that speaks its
/v1/embeddings protocol (Ollama, vLLM, LM Studio, llama.cpp and others).

	model, err := remote.New(remote.Options{
		BaseURL: "http://127.0.0.1:11434/v1",
		Model:   "nomic-embed-text",
	})

# What it guarantees

  - Vectors stand in the texts' order by the index that the server gives, not by
    the order in which they come. A count that differs, an index that is missing or
    comes twice, vectors of different lengths, numbers that are none and vectors of
    zeros are errors ([ErrAnswer]), never vectors.
  - Every vector has length 1, whatever the server sends. Floats and base64 are
    both read, since some servers send what they like and not what was asked for.
  - Broken connections, time-outs, and the answers 408, 409, 429 and 5xx are tried
    again, with growing waits or those that the server names. Other failures are
    returned at once, with the server's own words.
  - A cancelled context ends the call at once, a wait too.
  - The key is in no error, log or printed value, even if the server repeats it. It
    goes to the configured server only: no redirect is followed, and plain http
    carries it only to this machine or a private network.
  - Requests and answers are bounded in size, error texts too.

Every error is an [*Error]: which server, which texts, why, and what to do.

# Empty texts

OpenAI refuses a whole request for one empty text, and other servers give null for
blank ones. A text without content is therefore sent as a full stop: it gets a vector that
means nothing, and its neighbours get theirs. Bytes that are not UTF-8 are sent as
U+FFFD.

# The name of a model

Vectors that are kept may be compared only with vectors of the same model, and two
servers seldom run the same one under the same name: quantisation, pooling and
versions differ. [Model.Name] has the server's address in it for that reason: a
wrong name costs embedding anew, a wrong comparison costs every answer and shows
nowhere. A server that moves keeps its name if [Options.Server] gives it one.

# Caveats

Texts leave this machine if the server is another one. A text that is longer than
the model reads is refused by some servers ([ErrTooLong]) and silently cut by
others. Models that want a prefix ("search_query: ") get what the caller gives.
*/
package remote
