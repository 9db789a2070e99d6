/*
Package remote requests vectors from a server: OpenAI, or any that speaks its
/v1/embeddings protocol (Ollama, vLLM, LM Studio, llama.cpp and others).

	model, err := remote.New(remote.Options{
		BaseURL: "http://127.0.0.1:11434/v1",
		Model:   "nomic-embed-text",
	})

# What it guarantees

  - Vectors are put in the order of the texts by the index that the server gives, not
    by the order in which they arrive. A wrong count, a missing or repeated index,
    vectors of different lengths, invalid numbers and zero vectors are errors
    ([ErrAnswer]), never vectors.
  - Every vector has length 1, whatever the server sends. Floats and base64 are both
    accepted, because some servers ignore which one was requested.
  - Broken connections, time-outs, and the statuses 408, 409, 429 and 5xx are tried
    again, after growing waits or those that the server asks for. Other failures are
    returned at once, with the server's message.
  - A cancelled context ends the call at once, even during a wait.
  - The key is in no error, log or printed value, even if the server repeats it. It
    goes to the configured server only: no redirect is followed, and plain http
    carries it only to this machine or a private network.
  - Requests and answers are bounded in size, error texts too.

Every error is an [*Error]: which server, which texts, why, and what to do.

# Empty texts

OpenAI rejects a whole request because of one empty text, and other servers return null
for blank ones. A text without content is therefore sent as a full stop: its vector is
meaningless, and the other texts get theirs. Invalid UTF-8 is sent as U+FFFD.

# The name of a model

Stored vectors may be compared only with vectors of the same model, and two servers
seldom run the same one under the same name: quantisation, pooling and versions differ.
Therefore [Model.Name] includes the server's address. A needlessly different name costs
embedding again; a wrong comparison spoils every answer unnoticed. A server that moves
keeps its name if [Options.Server] gives it one.

# Caveats

Texts leave this machine if the server is another one. A text that is longer than
the model reads is rejected by some servers ([ErrTooLong]) and silently truncated by
others. The caller must add the prefix that some models need ("search_query: ").
*/
package remote
