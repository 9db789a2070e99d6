package recall

import (
	"strings"

	"github.com/oriel-context/oriel/recall/keyword"
)

// Asks reports whether text names something to search for: a word of content,
// a number or a name in code. "Yes, go on" does not. How much is recalled for
// a single word is up to certainty.
func Asks(text string) bool {
	var a keyword.Analyser
	var terms []keyword.Term
	for _, w := range strings.Fields(text) {
		w = strings.Trim(w, ".,;:!?\"'`()[]{}…#")
		if len(w) < 2 || assents[strings.ToLower(w)] {
			continue
		}
		if strings.ContainsAny(w, "0123456789_/.") || strings.ToLower(w[1:]) != w[1:] {
			return true
		}
		if terms, _ = a.Terms(terms[:0], w); len(terms) > 0 {
			return true
		}
	}
	return false
}

// assents are words of greeting, agreement and going on. Asks ignores them
// like stop words.
var assents = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(agreeing) {
		out[w] = true
	}
	return out
}()

const (
	agreeing = `
		yes yep yeah yup ok okay sure please thanks thank thx great good nice perfect cool fine right correct exactly agreed alright awesome
		excellent amazing lovely wow no nope nah hello hi hey bye goodbye welcome sorry understood lgtm looks look sounds makes sense works work well
		continue go going on ahead next let's lets do it that this fix try again now proceed commit push keep carry start begin finish done stop wait
		retry run option first second third last one two three both either me us you we them there here all everything anything something nothing more another`
	// ordering are words that tell someone what to do, without saying to what.
	ordering = `
		add apply check clean click close delete deploy down enter hit implement make merge off open out press read rebase redo remove rerun restart revert review
		save see show type undo up update use verify write`
)

// idle are the terms of agreeing and ordering. They say nothing about what a query is
// about: many a line has "run", "commit" or "press enter" by chance.
var idle = func() map[keyword.Term]bool {
	out := map[keyword.Term]bool{}
	terms, _ := new(keyword.Analyser).Terms(nil, agreeing+ordering)
	for _, t := range terms {
		out[t] = true
	}
	return out
}()

// commands reports whether a query is an order, such as "fix the lint errors": not a question,
// and it begins with a word that names nothing.
func commands(query string) bool {
	terms, _ := new(keyword.Analyser).Terms(nil, query)
	return len(terms) > 0 && idle[terms[0]] && !asks(query)
}
