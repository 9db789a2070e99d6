package oriel

import (
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine"
)

// View is what a model is shown. Text and Messages have the same contents; each is within the
// budget. Messages alternate between user and assistant, begin with the user's and end with
// the query; items of other sources are the user's, with a label such as "[file] ".
//
//	Messages         []chat.Message // for wire.Encode
//	Text             string         // recent items, relevant ones and the query, with titles
//	Tokens           int            // the size of Text
//	Recent, Relevant []Item         // what is shown, by time; see MetaBlock
//	Plan             *Plan          // why each item of the window is shown or not, for Undo
//	State            items.State    // as Status has it
type View = engine.View

// ContextOptions are the settings of one view. The zero value shows as much of the window as
// its size allows.
//
//	Budget         int           // the most tokens; 0: the size of the window
//	Relevant       []Item        // that the caller knows to be relevant, best first
//	Recall         RecallOptions // the search of the history
//	NoRecall       bool          // neither recall nor directives
//	RecentShare    float64       // of the room for recent items; 0: a half
//	QueryEmbedding []float32     // the query's vector; nil: the query is embedded
type ContextOptions = engine.ContextOptions

// RecallOptions configures a search of the history. The zero value suits most programs.
//
//	Budget      int          // the most tokens; 0: 2,048, for Context the room in the view
//	Top         int          // the most passages; 0: as many as fit, 10 for recall.Dense
//	Floor       float64      // the least score; 0: 0.15, 0.3 for recall.Dense; below 0: none
//	Mode        recall.Mode  // by words, by meaning, or (the default) both
//	Reach       recall.Reach // this conversation (the default), its project, or all
//	StrictState bool         // omits passages that do not fit Status.State
type RecallOptions = engine.RecallOptions

// Hits is the result of Recall.
//
//	Text     string      // for a model
//	Tokens   int         // its size
//	Mode     recall.Mode // how passages were found: recall.Keyword if there were no vectors
//	Passages []Hit       // by time
type Hits = engine.Hits

// Hit is a passage of an item. Its Keyword, Dense and Prior explain its score.
//
//	recall.Passage
//	Conversation string
//	Item         int64 // Conversation.Item returns all of it
type Hit = engine.Hit

// Status describes a conversation in numbers.
//
//	Items, Tokens       int         // in the window; of calls: the request that was sent last
//	MaxItems, MaxTokens int         // its limits; of calls: 0 and the budget
//	History             int         // items or messages ever added
//	Held                int         // that Undo holds in view
//	State               items.State // the activity that the newest items suggest
//	Complexity          float64     // of the newest ten items, from 0 to 1
type Status = engine.Status

// Undoing describes what an undo does. In a conversation of calls it is about the view of the
// latest call; the next one may need more room. Its method Newer reports whether anything
// leaves that is newer than the first that comes back.
//
//	Plan         string  // the id of the undone plan
//	Back         []int64 // items that come back and are held
//	Leaves       []int64 // items that leave for them
//	BackTokens   int     // how much more of Back the window would have
//	LeavesTokens int     // how much less of all others
type Undoing = call.Undoing

// Directive is a standing instruction or preference of the user: "always …", "call me …",
// "I prefer …". Directives are detected in the user's own items, so that they last as
// long as the history, imported or not.
//
//	ID           int64       // the item that contains it
//	Conversation string      // the item's; only that one can dismiss or edit it
//	Kind         recall.Kind
//	Time         time.Time
//	Text         string
//	Original     string      // what the user said, if Text was edited
type Directive = engine.Directive

// MaxDirective is the most bytes of an edited directive.
const MaxDirective = engine.MaxDirective

// MetaBlock is the key under which the Meta of a recalled item without an ID names its
// block, as Plan.Inserted does.
const MetaBlock = engine.MetaBlock
