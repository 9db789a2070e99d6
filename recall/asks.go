package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/keyword"
)

// Asks reports whether text names something to search for. A question or a few words to
// search for do if they have a word of content, another text if it has two; a name in code
// or a number is enough. "Yes, go on" and
// "ok, let's add this" do not, nor does a short text that begins with agreement: it is about
// what was just said. How much is recalled is up to certainty.
func Asks(text string) bool {
	var a keyword.Analyser
	var terms []keyword.Term
	question := asks(text)
	words := strings.Fields(text)
	agrees, content := false, 0
	for i, w := range words {
		w = strings.TrimFunc(w, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' &&
				r != '/'
		})
		lower := strings.ToLower(w)
		if i == 0 {
			agrees = begins[lower]
		}
		if len(w) < 2 || assents[lower] {
			continue
		}
		if names(w) {
			return true
		}
		if terms, _ = a.Terms(terms[:0], w); len(terms) > 0 && !idle[terms[0]] {
			content++
		}
	}
	switch {
	case question:
		return content > 0
	case agrees && len(words) <= agreeWords:
		return false
	case searches(text):
		return content > 0
	}
	return content > 1
}

// agreeWords is how many words a text has at most that only agrees.
const agreeWords = 8

// names reports whether a word is a name in code or a number that identifies something, not
// one that counts or chooses.
func names(w string) bool {
	if strings.Trim(w, "0123456789") == "" {
		return len(w) > 2
	}
	_, first := utf8.DecodeRuneInString(w)
	return strings.ContainsAny(w, "0123456789_/.") || strings.IndexFunc(w[first:], unicode.IsUpper) >= 0
}

// begins are words with which people agree to what was said or proposed.
var begins = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields("yes yep yeah yup ok okay sure right great good nice perfect cool fine thanks thank thx agreed alright exactly correct lgtm no nope nah hello hi hey bye sorry wow") {
		out[w] = true
	}
	return out
}()

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
		retry run option mess messed first second third last one two three both either me us you we them there here all everything anything something nothing more another`
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
