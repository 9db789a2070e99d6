package condense

import "bytes"

// Cues of a decision. Those in Latin script are whole words between spaces, as
// plain writes them; others match anywhere.
var (
	// rules apply to everything that follows, or revoke something earlier.
	rules = cues(" never ", " always ", " do not ", " don't ", " dont ", " must ", " mustn't ", " decision: ",
		" decided ", " from now on ", " instead ",
		" no longer ", " not allowed ", " forbidden ", " at all times ", " rather than ", " settled ", " stick with ",
		" stick to ", " switch to ", " let's not ",
		" should not ", " shouldn't ", " under no circumstances ", " rule: ", " rules: ", " remember ", " make sure ",
		" important: ", " requirement ", " nobody may ", " no one may ")
	// foreignRules are rules in languages other than English.
	foreignRules = cues(" niemals ", " immer ", " nie ", " entschieden ", " stattdessen ", " jamais ", " toujours ",
		" nunca ", " siempre ",
		"决定", "不要", "必须", "绝不", "总是", "改用", "禁止", "決定", "必ず", "しないで", "代わりに", "никогда", "всегда")
	// wishes are choices for the moment.
	wishes = cues(" let's ", " lets ", " we'll ", " we will ", " i want ", " i don't want ", " i'd like ", " i like ",
		" prefer ", " keep ", " leave ", " only ",
		" roll back ", " revert ", " should be ", " needs to be ", " has to be ", " option 1 ", " option 2 ",
		" option 3 ", " option a ", " option b ", " go with ", " going with ", " no, ", " not the ")
	// findings introduce what an assistant decided or found out.
	findings = cues(" decided ", " decision: ", " settled ", " agreed ", " understood: ", " chose ", " opted ",
		" going with ", " instead of ", " rather than ",
		" root cause ", " the cause ", " turns out ", " confirmed: ", " the problem is ", " the issue is ",
		" the bug is ", " we'll ", " i won't ", " must not ", " key insight ")
	// doubts look like rules but are not.
	doubts = cues(" don't know ", " don't remember ", " do not remember ", " do not have ", " don't think ",
		" don't understand ", " don't see ", " don't have ", " don't need ", " don't worry ", " why don't ",
		" don't we ", " don't you ",
		" dont know ", " dont see ", " must have ", " would never ", " can never ", " will never ", " has never ",
		" have never ", " had never ", " is never ", " was never ", " are always ", " is always ", " was always ",
		" must be because ", " remember when ", " always been ", " never mind ", " let's see ", " let me ")
	// pleas ask for something, whatever their punctuation.
	pleas = cues(" can you ", " could you ", " please ", " would you ")
	// nods agree and add nothing.
	nods = cues(" yes ", " y ", " yeah ", " yep ", " ok ", " okay ", " sure ", " thanks ", " thank ", " you ",
		" great ", " good ", " very ", " perfect ", " nice ", " cool ", " fine ",
		" continue ", " go ", " on ", " ahead ", " please ", " do ", " it ", " that ", " this ", " correct ", " right ",
		" exactly ", " hi ", " hello ", " proceed ", " lgtm ", " sounds ", " done ")
)

func cues(words ...string) [][]byte {
	out := make([][]byte, len(words))
	for i, w := range words {
		out[i] = []byte(w)
	}
	return out
}

func hasCue(plain []byte, list [][]byte) bool {
	for _, c := range list {
		if bytes.Contains(plain, c) {
			return true
		}
	}
	return false
}

// decides returns how much a sentence settles: 2 for a rule, 1 for a wish or a
// finding, 0 for neither. plain is the sentence as function plain writes it.
func decides(plain []byte, text string, user bool) int {
	if text[len(text)-1] == '?' {
		return 0
	}
	if !user {
		if len(text) > 30 && hasCue(plain, findings) {
			return 1
		}
		return 0
	}
	if (hasCue(plain, rules) || hasCue(plain, foreignRules)) && !hasCue(plain, doubts) {
		return 2
	}
	if hasCue(plain, wishes) {
		return 1
	}
	return 0
}

// nodding reports whether a user's text only agrees.
func nodding(plain []byte) bool {
	words := bytes.Fields(plain)
	if len(words) > 6 {
		return false
	}
	buf := make([]byte, 0, 32)
	for _, w := range words {
		buf = append(append(append(buf[:0], ' '), w...), ' ')
		if !hasCue(buf, nods) {
			return false
		}
	}
	return true
}
