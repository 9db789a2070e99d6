// Package directive recognises sentences in which a person tells an assistant how to answer
// or work from then on, or what the person likes. It knows English set phrases; it does not
// know who speaks, and callers pass only what a person said.
package directive

import (
	"regexp"
	"slices"
	"strings"
)

// Instructs reports whether a sentence tells an assistant how to answer or work beyond the
// next answer. What people tell each other in the same words ("never give up") is not that.
func Instructs(sentence string) bool {
	if len(sentence) > longest {
		return false
	}
	s := straight(sentence)
	return instructs(s, strings.ToLower(s))
}

// Prefers reports whether a sentence states what its speaker likes or must avoid.
func Prefers(sentence string) bool {
	if len(sentence) > longest {
		return false
	}
	s := straight(sentence)
	return prefers.match(s, strings.ToLower(s)) && !tells.MatchString(s) && !questions.MatchString(s)
}

// longest is the most bytes of a sentence that anybody remembers.
const longest = 1000

// instructs expects the sentence with straight apostrophes, also in lower case. A question
// instructs only if it asks the assistant for something lasting.
func instructs(s, lower string) bool {
	if lasting.match(s, lower) && addressed(s) {
		return !tells.MatchString(s) && (!questions.MatchString(s) || asksReader.MatchString(s))
	}
	found := reminds.match(s, lower) || rules(s, lower) && !encourages.MatchString(s)
	return found && !tells.MatchString(s) && !questions.MatchString(s)
}

// rules reports whether a sentence has the words of a rule for an assistant.
func rules(s, lower string) bool {
	if everWords.in(lower) && imperative(s) || forbids.match(s, lower) && !momentary.MatchString(s) {
		return true
	}
	return slices.ContainsFunc(forms, func(p *pattern) bool { return p.match(s, lower) })
}

// forms are the rules that no other word limits.
var forms = []*pattern{&obliges, &lexical, &replyForm, &manner, &style, &persona, &nickname}

// addressed reports whether a sentence asks its reader to do something: "please keep …",
// "you must …", "use …", but not "I'll use …".
func addressed(s string) bool {
	return requests.MatchString(s) || beginsWork.MatchString(s) && !states.MatchString(s)
}

// imperative reports whether a sentence begins with a command to always or
// never do something: "never use", but not "never works" or "always happy". Exclamations
// are rarely rules, so that those need a verb of work.
func imperative(s string) bool {
	m := ever.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	verb := strings.ToLower(m[1])
	if strings.HasSuffix(s, "!") {
		return slices.Contains(workVerbs, verb)
	}
	third := strings.HasSuffix(verb, "s") && !strings.HasSuffix(verb, "ss") && verb != "focus"
	participle := len(verb) > 5 && strings.HasSuffix(verb, "ing") ||
		strings.HasSuffix(verb, "ed") && !strings.HasSuffix(verb, "eed") && verb != "embed"
	return !third && !participle && !slices.Contains(noVerbs, verb)
}

// words are substrings in lower case, one of which a text must contain.
type words []string

func (w words) in(lower string) bool {
	return slices.ContainsFunc(w, func(word string) bool { return strings.Contains(lower, word) })
}

// pattern is an expression that can only match a sentence that contains one of some words.
// Most sentences contain none, and looking for words is much faster.
type pattern struct {
	words
	expression *regexp.Regexp
}

func (p *pattern) match(s, lower string) bool { return p.in(lower) && p.expression.MatchString(s) }

var everWords = words{"always", "never"}

// straight replaces the curly apostrophes of "don’t".
func straight(text string) string { return strings.ReplaceAll(text, "\u2019", "'") }

// May reports whether a text can contain a sentence for which Instructs or Prefers returns
// true. It is much faster than they are.
func May(text string) bool {
	lower := strings.ToLower(straight(text))
	if everWords.in(lower) {
		return true
	}
	has := func(p *pattern) bool { return p.in(lower) }
	return slices.ContainsFunc(forms, has) ||
		slices.ContainsFunc([]*pattern{&prefers, &lasting, &reminds, &forbids}, has)
}
