package oriel

import (
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine"
)

// Config configures an engine. The zero value stores conversations in memory, each with a
// window of 8,000 tokens and 100 items. Engines with different settings may share a history:
// each has windows of its own sizes.
//
//	// The history.
//	Dir       string            // its folder; empty: in memory. Several processes may share it
//	Store     timeline.Store    // instead of a database in Dir; the caller closes it
//	Sync      string            // "normal" survives the process, "full" a loss of power
//	Spool     string            // folder for calls that the store does not accept now
//	Shared    bool              // other processes serve calls of the same store
//	Learnt    token.LearntPlace // what providers taught; nil: learnt.json in Dir
//	Tenant    string            // whose history it is; no call reaches another tenant's
//	Project   string            // that of new conversations, for recall across a project
//	Retention Retention         // what Open deletes
//
//	// Windows of items.
//	MaxTokens, MaxItems int           // their size; 0: the conversation's last, or 8,000 and 100
//	Policy              string        // what leaves: "relevance" or "fifo"
//	Adaptive            bool          // MaxTokens follows state and complexity, by Sizing
//	Sizing              items.Sizing  // also of calls under the profile chat
//	Weights             items.Weights // of relevance
//	NoAutoFlags         bool          // Add detects no errors, code, questions and solutions
//	DirectiveTokens     int           // of standing instructions in a view; 0: a sixteenth
//
//	// The model that gets them.
//	Model   string           // bounds every size and says how tokens are counted
//	Models  *token.Models    // the table it is looked up in; nil: the built-in one
//	Reserve int              // tokens for the reply; 0: 8,192
//	Margin  float64          // share of its window left free; 0: a tenth; see window.NoMargin
//	Count   func(string) int // counts the tokens of a text, instead of Model
//
//	// Recall.
//	Embed        embed.Model // makes vectors; nil: all-MiniLM-L6-v2 in this process
//	NoEmbed      bool        // recall by words alone
//	NoEmbedItems bool        // relevance without vectors
//	RecallMemory int64       // bytes; 0: recall.DefaultMemory
//
//	// Calls, and what is reported.
//	Calls  CallOptions      // what is sent of requests
//	Events func(Event)      // receives everything that happens; it must return quickly
//	Log    *slog.Logger     // receives what goes wrong in the background
//	Now    func() time.Time // the only clock
type Config = engine.Config

// Retention limits the age and the size of a history. It deletes whole conversations, those
// first whose last message is the oldest.
//
//	OlderThan time.Duration // deletes conversations whose last message is older
//	MaxBytes  int64         // deletes until the contents have no more bytes
type Retention = engine.Retention

// CallOptions controls what is sent of the requests that go through Transport. The zero value
// sends what the profile "balanced" allows.
//
//	Profile      string               // of calls that name none; "off" sends them as they came
//	Profiles     *window.ProfileTable // those that calls may name; nil: the built-in ones
//	Models       *token.Models        // nil: Config.Models
//	Margin       float64              // 0: Config.Margin
//	Thresholds   window.Thresholds    // percentages of the window at which a cut is made
//	LowMark      float64              // share of the budget that a cut goes down to; 0: window.LowShare
//	KeepTools    []string             // tools whose results are not masked
//	RecallTokens int                  // the most that one call brings back; 0: 2,048
//	RecallWait   time.Duration        // the most that a call waits for recall; 0: 100 ms
//	RecallReach  recall.Reach         // how far the first call of a conversation looks back
//	PlainCache   bool                 // the upstream caches plain prefixes, as vLLM does
//	MarkCache    bool                 // asks for Anthropic's cache where the client does not
//	StoredBytes  map[string]int64     // limits by tenant; "*": all others
//	Condense     *CondenseOptions     // a model summarises what leaves; nil: rules do
type CallOptions = call.Options

// CondenseOptions controls how a model summarises what a view leaves out.
//
//	Condenser condense.Condenser // asks the model
//	Inline    bool               // the call waits; otherwise a later cut has the summary
//	Wait      time.Duration      // for a summary; 0: two minutes, inline 20 seconds
//	Max       int                // its tokens; 0: 1,024
type CondenseOptions = call.CondenseOptions
