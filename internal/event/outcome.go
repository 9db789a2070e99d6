package event

import "strings"

// Outcome is how a call ended.
type Outcome string

const (
	// OutcomeWhole: the provider gave a whole answer.
	OutcomeWhole Outcome = ""
	// OutcomeLeft: the client left before the end: some do at the last event, when they
	// have all that they want.
	OutcomeLeft Outcome = "left"
	// OutcomeCutOff: the answer ended as it should and has no complete reply.
	OutcomeCutOff Outcome = "cut-off"
	// OutcomeFailed: the provider, or the way to it, failed.
	OutcomeFailed Outcome = "failed"
)

// Texts of errors of calls.
const (
	// ClientLeft begins the error of a call whose client left.
	ClientLeft = "the client left"
	// NoReply is the error of a call whose answer was cut off, or is something else than a
	// reply, although the connection ended as it should.
	NoReply = "the answer has no complete reply"
)

// OutcomeOf returns the outcome of a call by the text of its error, which is all that records
// and events of earlier versions have of it.
func OutcomeOf(text string) Outcome {
	switch {
	case text == "":
		return OutcomeWhole
	case strings.HasPrefix(text, ClientLeft):
		return OutcomeLeft
	case text == NoReply:
		return OutcomeCutOff
	}
	return OutcomeFailed
}

// Failed reports whether the provider, or the way to it, gave no whole answer.
func (o Outcome) Failed() bool { return o == OutcomeFailed || o == OutcomeCutOff }
