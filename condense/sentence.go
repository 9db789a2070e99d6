package condense

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is a piece of text that is kept or dropped as a whole.
type sentence struct {
	// text is one line for prose, and a whole block for code.
	text string
	code bool
	// list reports that the sentence begins a list item.
	list bool
}

// sentences splits text in any script into sentences. A code fence is one piece.
// Blank lines, headings, list items and table rows end a sentence; other line
// breaks do not.
func sentences(text string) []sentence {
	var out []sentence
	para := make([]byte, 0, 256) // the paragraph so far, on one line
	list := false
	flush := func() {
		out = splitProse(out, string(para), list)
		para, list = para[:0], false
	}
	for len(text) > 0 {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		trimmed := strings.TrimSpace(line)
		if fence := fenceOf(trimmed); fence != "" {
			flush()
			block, rest := cutFence(fence, text)
			out = append(out, sentence{text: trimmed + "\n" + block, code: true})
			text = rest
			continue
		}
		item := listItem(trimmed)
		if trimmed == "" || item > 0 || trimmed[0] == '#' || trimmed[0] == '|' {
			flush()
		}
		if item > 0 {
			list, trimmed = true, trimmed[item:]
		}
		if len(para) > 0 && trimmed != "" {
			para = append(para, ' ')
		}
		para = append(para, trimmed...)
		if trimmed != "" && (trimmed[0] == '#' || trimmed[0] == '|') {
			flush()
		}
	}
	flush()
	return out
}

// fenceOf returns the run of backticks or tildes that opens a code block.
func fenceOf(line string) string {
	for _, c := range [...]byte{'`', '~'} {
		n := 0
		for n < len(line) && line[n] == c {
			n++
		}
		if n >= 3 && !strings.ContainsRune(line[n:], rune(c)) {
			return line[:n]
		}
	}
	return ""
}

// cutFence returns a code block including its closing fence, and the rest.
func cutFence(fence, text string) (block, rest string) {
	at := 0
	for at < len(text) {
		line, _, more := strings.Cut(text[at:], "\n")
		end := at + len(line)
		if t := strings.TrimSpace(line); strings.HasPrefix(t, fence) && strings.Trim(t, fence[:1]) == "" {
			if more {
				return text[:end], text[end+1:]
			}
			return text[:end], ""
		}
		if !more {
			break
		}
		at = end + 1
	}
	return text + "\n" + fence, ""
}

// listItem returns the length of a list item's marker ("- ", "12. "), or 0.
func listItem(line string) int {
	if len(line) > 2 && strings.ContainsRune("-*+", rune(line[0])) && line[1] == ' ' {
		return 2
	}
	if strings.HasPrefix(line, "• ") {
		return len("• ")
	}
	n := 0
	for n < len(line) && n < 3 && '0' <= line[n] && line[n] <= '9' {
		n++
	}
	if n > 0 && n+1 < len(line) && (line[n] == '.' || line[n] == ')') && line[n+1] == ' ' {
		return n + 2
	}
	return 0
}

// splitProse splits one paragraph.
func splitProse(out []sentence, para string, list bool) []sentence {
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" && strings.IndexFunc(s, isWord) >= 0 {
			out = append(out, sentence{text: oneLine(s), list: list})
			list = false
		}
	}
	start := 0
	for i := 0; i < len(para); {
		r, n := utf8.DecodeRuneInString(para[i:])
		i += n
		if !ends(r) {
			continue
		}
		// Closing marks and further full stops belong to the sentence.
		for i < len(para) {
			c, m := utf8.DecodeRuneInString(para[i:])
			if !ends(c) && !closes(c) {
				break
			}
			i += m
		}
		if wide(r) || breaks(para[start:i], para[i:], r) {
			add(para[start:i])
			start = i
		}
	}
	add(para[start:])
	return out
}

// ends reports whether a rune can end a sentence.
func ends(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '؟', '۔', '।', '॥':
		return true
	}
	return wide(r)
}

// wide reports whether a rune ends a sentence without a space after it.
func wide(r rune) bool { return r == '。' || r == '！' || r == '？' || r == '．' || r == '｡' }

func closes(r rune) bool {
	switch r {
	case '"', '\'', ')', ']', '*', '_', '`', '”', '’', '»', '」', '』', '）', '】':
		return true
	}
	return false
}

// shortForms are abbreviations whose full stop does not end a sentence.
var shortForms = map[string]bool{
	"e.g": true, "i.e": true, "etc": true, "vs": true, "mr": true, "mrs": true, "ms": true, "dr": true, "prof": true,
	"st": true, "no": true, "fig": true, "cf": true, "approx": true, "incl": true, "resp": true, "z.b": true,
	"d.h": true, "bzw": true,
}

// breaks reports whether a sentence ends between before and after.
func breaks(before, after string, end rune) bool {
	if after == "" {
		return true
	}
	next, _ := utf8.DecodeRuneInString(after)
	if !unicode.IsSpace(next) {
		return false
	}
	if end != '.' {
		return true
	}
	next, _ = utf8.DecodeRuneInString(strings.TrimLeft(after, " *_`\"'([“‘«"))
	if unicode.IsLower(next) {
		return false
	}
	word := before[strings.LastIndexAny(before, " (")+1:]
	word = strings.ToLower(strings.TrimRight(word, "."))
	if utf8.RuneCountInString(word) == 1 && word != "i" && !unicode.IsDigit(rune(word[0])) && isWord(rune(word[0])) {
		return false // an initial
	}
	return !shortForms[word] || word == "etc" || word == "no" && !unicode.IsDigit(next)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// plain returns the text in which cues are searched: lower case, words separated by
// one space, a space at both ends. Apostrophes become straight; full stops and
// colons that end something become separate words.
func plain(dst []byte, s string) []byte {
	dst = append(dst[:0], ' ')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '\'':
				dst = append(dst, c)
			case 'A' <= c && c <= 'Z':
				dst = append(dst, c+'a'-'A')
			default:
				if c == ':' && dst[len(dst)-1] != ' ' {
					dst = append(dst, ':')
				}
				if dst[len(dst)-1] != ' ' {
					dst = append(dst, ' ')
				}
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '’':
			dst = append(dst, '\'')
		case isWord(r) || unicode.IsMark(r):
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		case dst[len(dst)-1] != ' ':
			dst = append(dst, ' ')
		}
	}
	if dst[len(dst)-1] != ' ' {
		dst = append(dst, ' ')
	}
	return dst
}
