package oriel

import (
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine"
)

// Config configures an engine. The zero value stores conversations in memory, each with a
// window of 8,000 tokens and 100 items. Dir is the folder of the history; Model names the
// model that gets the windows, and MaxTokens, MaxItems and Policy bound and order them;
// Calls controls what is sent of requests; Embed and NoEmbed are for recall; Events receives
// what happens.
type Config = engine.Config

// Retention limits the age and the size of a history: OlderThan and MaxBytes.
type Retention = engine.Retention

// CallOptions controls what is sent of the requests that go through Transport: the profile,
// the model table, margins and thresholds, recall, and who writes summaries. The zero value
// sends what the profile "balanced" allows.
type CallOptions = call.Options

// CondenseOptions controls how a model summarises what a view leaves out.
type CondenseOptions = call.CondenseOptions
