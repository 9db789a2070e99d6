// Package replay sends recorded agent sessions through the engine's views, call by call, and
// prices what each way to send them would have cost: everything as it came (append), the
// profiles, or the policies of package window at any size.
//
// The calls are rebuilt by package recording. Their views are made by the viewer that makes
// those of live calls, with recall by words. Each prompt then meets its provider's cache as
// Rules describe it: what it shares with the last prompt of its model is read if that was not
// longer ago than the cache's lifetime, by the clock of the recording; the rest is written.
//
// # Calibration
//
// Where a recording has what providers reported, the replay follows it. The tokens of
// messages are set so that every prompt of append has the size that was reported; what the
// recording lacks, system prompt and tools, is the rest of the first. If a provider read less
// of a prompt than its rules say, it had lost the rest, for every policy; if it read the
// prompt after its lifetime, it still had it. Session.Calibration says how far the replay of
// append is from what was reported, and how far rules and clock alone would be.
//
// # Caveats
//
// An agent that is shown less might have acted differently: a replay cannot know. What it
// needed again of what was left out is counted (package quality). Reads of a cache that a
// view would have had and the recording's agent had not are not guessed. Summaries by a
// model are not made, and recall by meaning is not tried.
package replay
