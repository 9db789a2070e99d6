package voice

// The titles of a digest's sections. They are part of its format: a later digest finds the
// sections by them.
const (
	DigestEarlier   = "Earlier"
	DigestTask      = "Task"
	DigestDecisions = "Decisions"
	DigestProgress  = "Reported"
	DigestChanged   = "Files changed"
	DigestCommands  = "Commands"
	DigestErrors    = "Errors"
	DigestOpen      = "Open"
	DigestRead      = "Files read"
)

// The beginnings of a digest's lines.
const (
	DigestUser      = "user: "
	DigestAssistant = "assistant: "
	DigestAsked     = "assistant asked: "
	DigestStep      = "step: "
	// DigestRefused begins the line of a call whose result says that the user refused it.
	DigestRefused = "a result says that the user refused "
)

// What else a digest says.
const (
	// DigestPasted takes a number of lines.
	DigestPasted = "(pasted %d lines)"
	// DigestNoOutcome ends the line of a call without a result.
	DigestNoOutcome = " (what came of it is not told here)"
)
