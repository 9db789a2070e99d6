package recall

// Weights are the constants of the score. Their zero value is no useful setting:
// begin with DefaultWeights. docs/retrieval.md tells where each comes from and what
// is lost without it; all lie on a plateau, so that 30 % up or down changes little.
type Weights struct {
	// Question, Statement and Remark weigh the lexical score: that of a question is a
	// share of the best in the scope, that of a statement of what the query could
	// reach. A remark is a statement in a conversation without tools.
	Question, Statement, Remark float32
	// Lexical and Dense weigh what a passage takes from the messages 2 and 1
	// before and 1 and 2 after its own, in the same session.
	Lexical, Dense [4]float32
	// Edge makes up for neighbours that are missing at the ends of a session:
	// the sum of all of Lexical.
	Edge float32
	// Knee is the length in tokens up to which a passage is short: longer ones
	// take less from their neighbours and pay for their length.
	Knee float32
	// Length weighs the logarithm of a passage's length in knees.
	Length float32
	// Speaker is for passages of the person whom the query names, and against
	// those of the others.
	Speaker float32
	// Date is for passages of the month that the query names; the day counts more.
	Date float32
	// User is for what the user said, unless the query asks for the assistant's
	// words: for questions about facts, about the assistant's words, about a
	// course of events, for summaries, and for work. Only where speakers have no
	// names.
	User [5]float32
	// Work is what meaning weighs for work, where it weighs 1 else: paths and
	// identifiers say more by their letters.
	Work float32
	// Tool is for calls and results of tools, for work: for queries that are no
	// questions where tools are used.
	Tool float32
	// Repeat is what further passages of a message cost where the query asks for
	// a course of events or a summary; a quarter of it for work.
	Repeat float32
	// Instruction and Preference are for what tells how the user wants things.
	Instruction, Preference float32
	// Pins is the share of the budget that standing instructions may take before
	// all else; 0 or less for none.
	Pins float32
	// Router tells statements from questions; without it all are questions.
	Router bool
}

// DefaultWeights are those that docs/retrieval.md measures.
func DefaultWeights() Weights {
	return Weights{
		Question: 5, Statement: 15, Remark: 4,
		Lexical: [4]float32{.3, .5, .4, .3}, Dense: [4]float32{0, .1, .3, .1}, Edge: 1.5,
		Knee: 64, Length: .5,
		Speaker: .9, Date: 4, User: [5]float32{5, 0, 6, 3, 0}, Work: .6, Tool: 1, Repeat: 4, Instruction: 2, Preference: 1.5, Pins: .0625, Router: true,
	}
}

// stages are the parts of the score that can be taken out, to see what they bring.
var stages = []struct {
	name string
	off  func(*Weights)
}{
	{"neighbours", func(w *Weights) { w.Lexical, w.Dense, w.Edge = [4]float32{}, [4]float32{}, 0 }},
	{"speaker", func(w *Weights) { w.Speaker = 0 }},
	{"date", func(w *Weights) { w.Date = 0 }},
	{"role", func(w *Weights) { w.User, w.Tool = [5]float32{}, 0 }},
	{"length", func(w *Weights) { w.Length = 0 }},
	{"directives", func(w *Weights) { w.Instruction, w.Preference, w.Pins = 0, 0, -1 }},
	{"spread", func(w *Weights) { w.Repeat = 0 }},
	{"router", func(w *Weights) { w.Router = false }},
}

// Stages are the names that Without knows.
func Stages() []string {
	var out []string
	for _, s := range stages {
		out = append(out, s.name)
	}
	return out
}

// Without takes a stage out, and reports whether there is one of this name.
func (w *Weights) Without(stage string) bool {
	for _, s := range stages {
		if s.name == stage {
			s.off(w)
			return true
		}
	}
	return false
}
