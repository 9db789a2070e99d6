// Package windows asks servers of local models how large the windows are with which they run
// them: Ollama, llama.cpp's server, vLLM and LM Studio tell it.
//
// # Guarantees
//
// A server is asked once per model, and again when what it said may have changed. Whoever needs
// an answer waits for it briefly, and takes what is known if it does not come; the question goes
// on without them. What is kept, and what is read of an answer, is bounded.
//
// # Caveats
//
// Only servers on this machine or in private networks are asked, except Ollama. A server that
// says nothing is asked again a minute later.
package windows
