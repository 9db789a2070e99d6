package prompt

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

	// Those of a talk; DigestOpen is one of them.
	DigestAbout  = "About"
	DigestAgreed = "Agreed"
	DigestNames  = "Names and dates"
)

// The beginnings of a digest's lines.
const (
	DigestUser      = "user: "
	DigestAssistant = "assistant: "
	DigestAsked     = "assistant asked: "
	DigestStep      = "step: "
	// DigestAsks follows a speaker's name, DigestOn those of all speakers.
	DigestAsks = " asked: "
	DigestOn   = " on "
	// DigestRefused begins the line of a call whose result says that the user refused it.
	DigestRefused = "a result says that the user refused "
)

// DigestPasted takes a number of lines.
const DigestPasted = "(pasted %d lines)"
