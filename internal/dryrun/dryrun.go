// Package dryrun lets the conformance program run a policy of package window on messages
// whose sizes it gives. It exists because such messages have no bytes that could be sent,
// so that window.Fit cannot take them; nothing else imports it.
package dryrun

import (
	"context"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
)

// Input is a conversation and the settings of one decision. They have the meaning of
// window.Options, without its defaults for Budget, Low and Mode.
type Input struct {
	Messages []chat.Message
	Rules    chat.Rules
	// Tokens holds the size of each message; Count counts texts that are inserted.
	Tokens []int
	Count  func(string) int

	Policy, Mode string
	Budget, Low  int
	MaxItems     int
	Fraction     float64
	KeepResults  int
	KeepTools    []string
	ClearInputs  bool
	Condenser    condense.Condenser
	// Over and Condense are why the policy runs: those of window.Trigger.
	Over, Condense bool
}

// Output is the decision.
type Output struct {
	// Action is that of the plan.
	Action string
	// Shown has a flag for each message: whether it is sent, perhaps edited.
	Shown []bool
	// Markers are the messages that hold a marker.
	Markers []int
	// Masked are the messages whose results were replaced by stubs, ClearedInputs the ids
	// of calls whose arguments were emptied.
	Masked        []int
	ClearedInputs []string
	// Summary, Cost and Failure are the result of condensing.
	Summary string
	Cost    float64
	Failure string
}

// Policy runs the policy that the input names. Package window sets it when it is loaded.
var Policy func(context.Context, Input) (Output, error)
