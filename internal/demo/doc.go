// Package demo is a coding agent's session that needs no key and no network: a code base
// (harbor.txt), what its user says and what the model does (session.txt), an agent that
// runs the tools and, like all agents, resends everything with every call, and a model.
//
// # Guarantees
//
//   - The model knows nothing but the request: its place in the session by the newest
//     message, and facts only if the request says them.
//   - The agent does what the model's replies say, and nothing else: what its tools
//     answer comes from the code base, as edited so far.
//   - Usage is what a provider reports: a beginning that was sent before is read from
//     the cache, the rest is written to it.
//   - The session is the same every time.
package demo
