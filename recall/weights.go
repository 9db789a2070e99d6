package recall

// Weights are the constants of the score. The zero value is not useful: begin
// with DefaultWeights. docs/reference/retrieval.md shows where each comes from and what
// is lost without it. All lie on a plateau: 30 % up or down changes little.
type Weights struct {
	// Question, Statement and Remark weigh the lexical score. That of a
	// question is relative to the best passage in the scope, that of a
	// statement to the most that the query could score. A remark is a
	// statement in a conversation without tools.
	Question, Statement, Remark float32
	// Lexical and Dense weigh what a passage gets from the messages 2 and 1
	// before and 1 and 2 after its own in the same session.
	Lexical, Dense [4]float32
	// Edge compensates for missing neighbours at the ends of a session: the
	// sum of all of Lexical.
	Edge float32
	// Knee is the length in tokens up to which a passage is short. Longer ones
	// get less from their neighbours and pay for their length.
	Knee float32
	// Length weighs the logarithm of a passage's length in knees.
	Length float32
	// Speaker is added for passages of the person whom the query names, and
	// subtracted for those of others.
	Speaker float32
	// Date is added for passages of the month that the query names; the exact
	// day counts more.
	Date float32
	// User is added for what the user said, unless the query asks for the
	// assistant's words. It has one value each for questions about facts,
	// about the assistant's words, about a course of events, for summaries,
	// and for work. It applies only if speakers have no names.
	User [5]float32
	// Work is the weight of meaning in queries about work; in others it is 1.
	// Letters matter more there, because of paths and identifiers.
	Work float32
	// Tool is added for calls and results of tools in work: in queries that
	// are not questions, if tools are used.
	Tool float32
	// Told is added for what the user said, and Tool for nothing, in a sized search for
	// work: an agent can run its tools again, and nobody says a thing twice.
	Told float32
	// Repeat is the cost of further passages of a message if the query asks
	// for a course of events or a summary; a quarter of it for work.
	Repeat float32
	// Conversation weighs how much less near a conversation is than the nearest of the
	// scope.
	Conversation float32
	// Instruction and Preference are added for passages that state one.
	Instruction, Preference float32
	// Pins is the share of the budget that standing instructions may take
	// before everything else; none if 0 or less.
	Pins float32
	// Router distinguishes statements from questions; without it all queries
	// are questions.
	Router bool
}

// DefaultWeights returns the weights that docs/reference/retrieval.md measures.
func DefaultWeights() Weights {
	return Weights{
		Question: 5, Statement: 15, Remark: 4,
		Lexical: [4]float32{.3, .5, .4, .3}, Dense: [4]float32{0, .1, .3, .1}, Edge: 1.5,
		Knee: 64, Length: .5,
		Speaker: .9, Date: 4, User: [5]float32{5, 0, 6, 3, 0}, Work: .6, Tool: 1, Told: 4, Repeat: 4, Conversation: 1,
		Instruction: 2, Preference: 1.5, Pins: .0625, Router: true,
	}
}

// stages are the parts of the score that can be switched off to measure their
// effect.
var stages = []struct {
	name string
	off  func(*Weights)
}{
	{"neighbours", func(w *Weights) { w.Lexical, w.Dense, w.Edge = [4]float32{}, [4]float32{}, 0 }},
	{"speaker", func(w *Weights) { w.Speaker = 0 }},
	{"date", func(w *Weights) { w.Date = 0 }},
	{"role", func(w *Weights) { w.User, w.Tool, w.Told = [5]float32{}, 0, 0 }},
	{"length", func(w *Weights) { w.Length = 0 }},
	{"directives", func(w *Weights) { w.Instruction, w.Preference, w.Pins = 0, 0, -1 }},
	{"spread", func(w *Weights) { w.Repeat = 0 }},
	{"conversation", func(w *Weights) { w.Conversation = 0 }},
	{"router", func(w *Weights) { w.Router = false }},
}

// Stages returns the names that Without accepts.
func Stages() []string {
	var out []string
	for _, s := range stages {
		out = append(out, s.name)
	}
	return out
}

// Without switches off a stage, and reports whether it exists.
func (w *Weights) Without(stage string) bool {
	for _, s := range stages {
		if s.name == stage {
			s.off(w)
			return true
		}
	}
	return false
}
