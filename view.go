package oriel

import (
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine"
)

// View is what a model is shown: Messages, for wire.Encode, or Text, which has the same
// contents. Recent and Relevant are the items that are shown, and Plan has a verdict with a
// reason for every item of the window.
type View = engine.View

// ContextOptions are the settings of one view: its Budget, items that the caller knows to be
// relevant, and how the history is searched (Recall, NoRecall). The zero value shows as much
// of the window as its size allows.
type ContextOptions = engine.ContextOptions

// RecallOptions configures a search of the history: Budget and Top bound the result, Floor is
// the least score, Mode is by words, by meaning or both, and Reach the conversations that are
// searched. The zero value suits most programs.
type RecallOptions = engine.RecallOptions

// Hits is the result of Recall: a Text for a model, with its Tokens, and the Passages.
type Hits = engine.Hits

// Hit is a passage with its Conversation and Item, and its scores.
type Hit = engine.Hit

// Status describes a conversation in numbers.
type Status = engine.Status

// Undoing describes what an undo does: the items or messages that come back, those that
// leave for them, and their sizes.
type Undoing = call.Undoing

// Directive is a standing instruction or preference of the user: "always …", "call me …",
// "I prefer …". Directives are detected in the user's own items, so that they last as
// long as the history, imported or not.
type Directive = engine.Directive

// MaxDirective is the most bytes of an edited directive.
const MaxDirective = engine.MaxDirective

// MetaBlock is the key under which the Meta of a recalled item without an ID names its
// block, as Plan.Inserted does.
const MetaBlock = engine.MetaBlock
