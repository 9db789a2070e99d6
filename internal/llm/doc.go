// Package llm is the client for servers that speak OpenAI's protocol.
// Summaries, answers in an evaluation and embeddings use it.
//
// A [Client] sends one JSON body to one path below the server's base URL and
// returns the body of the answer. The same rules apply to all of its users:
//
//   - The key is sent to the configured server only. No redirect is followed,
//     and plain http carries a key only to this machine or a private network
//     ([ErrKey]).
//   - The key appears in no error and in no printed value, even if the server
//     repeats it in another spelling (package secret).
//   - Broken connections, time-outs and the statuses 408, 409, 429 and 5xx are
//     retried, at most [Options.Retries] times. The waits grow from half a
//     second to 8 seconds, and half of each is random. A wait that the server
//     asks for (Retry-After in seconds or as a date, retry-after-ms) is
//     honoured up to a minute. A wait that would outlast the context is not
//     begun.
//   - Answers and the texts of errors are bounded.
//
// Every error of Post is an [*Error]: which server, why, and what to do.
package llm
