// Package llm is the client for servers that speak OpenAI's protocol: for summaries, for
// answers in an evaluation, and for embeddings.
//
// A [Client] sends one JSON body to one path below the server's base URL and returns the
// body of the answer. For all of its users the same rules hold:
//
//   - The key goes to the configured server only. No redirect is followed, and plain http
//     carries a key only to this machine or a private network ([ErrKey]).
//   - The key is in no error and in no printed value, also if the server repeats it in
//     another spelling (package secret).
//   - Broken connections, time-outs and the answers 408, 409, 429 and 5xx are tried again,
//     as often as [Options.Retries] says. The waits grow from half a second to 8 seconds
//     and half of each is random. A server that names a time (Retry-After in seconds or as
//     a date, retry-after-ms) gets it, up to a minute. A wait that would outlast the
//     context is not begun.
//   - Answers and the texts of errors are bounded.
//
// Every error of Post is an [*Error]: which server, why, and what to do.
package llm
