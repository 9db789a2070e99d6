// Package forward takes a request through an engine to its provider: it reads the body, has the
// engine begin the call, sends what the engine shows of it, sends it again with less if it is
// refused, and gives the engine a copy of the answer that the client reads.
//
// It is the one implementation of that. Transport is the door for programs; package
// internal/proxy is HTTP around an Exchange.
//
// # Guarantees
//
// Nothing of the engine's breaks a request or delays it beyond a bound: its methods run in one
// goroutine of the call, panics are recovered from, and a method that takes too long is
// abandoned with its call, at most MaxBehind of them at a time. The client's bytes are sent
// unless the engine has others. What is refused is sent again at most twice, before any of an
// answer is relayed; an answer is read only as far as it takes to see that it is no refusal,
// and is whole afterwards. The bodies of all requests of a Budget, and what is copied of their
// answers, take no more memory than its limit; beyond it, requests pass unseen.
//
// # Caveats
//
// A body is looked at only as a whole: one that is larger than the limit, or that memory is
// short for, is sent while it comes, and nothing of it is recorded.
package forward
