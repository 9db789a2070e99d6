package chat

import (
	"regexp"
	"strings"
)

// enclosed returns the stretches of a text that stand between two marks, or are JSON, in
// order. They do not overlap.
func enclosed(text string) (out [][2]int) {
	last, ok := closers(text)
	if !ok {
		return [][2]int{{0, len(text)}}
	}
	var before string // what stands before this line, but for blank lines
	inCode := 0       // the end of the last value that is part of code
	for at := 0; at < len(text); {
		next := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		line := strings.TrimLeft(text[at:next], " \t")
		begin := next - len(line)
		switch stop := enclosedEnd(text, line, begin, last); {
		case stop <= begin:
		case stop < len(text) && jsonAt(text, begin) && opensValue(before, inCode > 0 && begin-inCode < longTitle &&
			strings.TrimSpace(text[inCode:begin]) == ","):
			inCode, next = stop, max(next, stop)
		default:
			out = append(out, [2]int{begin, stop})
			next = max(next, stop)
		}
		if line = strings.TrimSpace(text[max(at, next-longTitle):next]); line != "" {
			before = line
		}
		at = next
	}
	return out
}

// opensValue reports whether a value of JSON is part of code that somebody has written: what
// stands before it opens a list, a call or an assignment, or it follows another such value.
func opensValue(before string, follows bool) bool {
	return follows || before != "" && strings.IndexByte("[({=", before[len(before)-1]) >= 0
}

// enclosedEnd returns where the stretch ends that begins with a line, or -1.
func enclosedEnd(text, line string, begin int, last map[string]int) int {
	if len(last) > 0 && len(line) > 3 && strings.IndexByte("[-=*#<>", line[0]) >= 0 && (line[0] == '[' ||
		line[1] == line[0]) {
		if m := opens.FindStringSubmatch(line[:min(len(line), longTitle)]); m != nil {
			if stop := last[strings.ToLower(m[1]+m[2])]; stop > begin {
				return stop
			}
		}
	}
	if stop := last[quotes]; stop > begin+len(quotes) && strings.HasPrefix(line, quotes) {
		return stop
	}
	if jsonAt(text, begin) {
		return begin + balanced(text[begin:])
	}
	return -1
}

// quotes is a mark that opens and closes.
const quotes = `"""`

var (
	// opens and closes match the marks around a page or a file; Llama's [INST] is around a
	// person's words.
	opens  = regexp.MustCompile(`(?i)^(?:\[([a-z][a-z_ ]{1,30}?)(?:[ :#]?\d+)?\]|[-=*#<>]{2,} *(?:begin|start) (?:of )?([a-z_ ]{2,40}?)(?: ?#?\d+)? *[-=*#<>]{2,})`)
	closes = regexp.MustCompile(`(?i)\[(?:/|end[ _])([a-z][a-z_ ]{1,30}?)(?:[ :#]?\d+)?\]|[-=*#<>]{2,} *end (?:of )?([a-z_ ]{2,40}?)(?: ?#?\d+)? *[-=*#<>]{2,}`)
)

// closers returns the end of the last closing mark of each name, or false if there are too
// many marks.
func closers(text string) (map[string]int, bool) {
	last, tries := map[string]int{}, tries(text)
	if i := strings.LastIndex(text, quotes); i >= 0 {
		last[quotes] = i + len(quotes)
	}
	for at := 0; at < len(text); {
		next := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		line := text[at:min(next, at+4*longTitle)]
		if strings.Contains(line, "[/") || strings.ContainsAny(line, "[-=*#<>") && (strings.Contains(line, "end") ||
			strings.Contains(line, "END") || strings.Contains(line, "End")) {
			if tries--; tries < 0 {
				return nil, false
			}
			for _, m := range closes.FindAllStringSubmatchIndex(line, -1) {
				name := line[max(m[2], m[4]):max(m[3], m[5])]
				if name = strings.ToLower(name); name != "inst" {
					last[name] = at + m[1]
				}
			}
		}
		at = next
	}
	return last, true
}

// jsonAt reports whether a value of JSON begins at an offset; see isJSON.
func jsonAt(text string, at int) bool { return isJSON(text[at:min(len(text), at+longTitle)]) }

// isJSON reports whether a text begins as an object, or as a list of strings or objects.
func isJSON(s string) bool {
	const white = " \t\r\n"
	if rest, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimLeft(rest, white)
		if strings.HasPrefix(s, `"`) {
			return true
		}
	}
	s, ok := strings.CutPrefix(s, "{")
	if s = strings.TrimLeft(s, white); !ok || !strings.HasPrefix(s, `"`) {
		return false
	}
	_, s, ok = strings.Cut(s[1:], `"`)
	return ok && strings.HasPrefix(strings.TrimLeft(s, white), ":")
}

// balanced returns the length of the JSON value at the beginning of a text, or the text's
// length if it does not end.
func balanced(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// without removes stretches from others. Both are in order.
func without(all, remove [][2]int) [][2]int {
	if len(remove) == 0 {
		return all
	}
	var out [][2]int
	for _, s := range all {
		for len(remove) > 0 && remove[0][1] <= s[0] {
			remove = remove[1:]
		}
		for _, r := range remove {
			if r[0] >= s[1] {
				break
			}
			if s[0] < r[0] {
				out = append(out, [2]int{s[0], r[0]})
			}
			s[0] = max(s[0], r[1])
		}
		if s[0] < s[1] {
			out = append(out, s)
		}
	}
	return out
}
