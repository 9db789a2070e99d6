package quote

import "strings"

// eachStructure returns text with every match of structure replaced by what
// change returns for it. Only the lines that may have a match are searched: the
// expression takes about 50 ns for each byte, and few lines have any.
func eachStructure(text string, change func(match string) string) string {
	var b strings.Builder
	for done, at := 0, 0; ; {
		// A line goes with the line feed before it, because a match does.
		end := len(text)
		if n := strings.IndexByte(text[min(at+1, end):], '\n'); n >= 0 {
			end = at + 1 + n
		}
		if line := text[at:end]; mayMatch(line) {
			if changed := structure.ReplaceAllStringFunc(line, change); changed != line {
				b.WriteString(text[done:at])
				b.WriteString(changed)
				done = end
			}
		}
		if at = end; at < len(text) {
			continue
		}
		if done == 0 {
			return text
		}
		b.WriteString(text[done:])
		return b.String()
	}
}

// mayMatch reports whether structure may match in a line, which may begin with
// a line feed. It is true too often rather than too seldom.
func mayMatch(line string) bool {
	line = strings.TrimSuffix(strings.TrimPrefix(line, "\n"), "\r")
	if mayLabel(line) {
		return true
	}
	for i := range len(line) {
		switch c := line[i]; {
		case c == '<' && begins(line[i+1:], "/|<", "aceflst"), c == '[' && begins(line[i+1:], "/", "aiost"):
			return true
		case c == '\r', c == '\v', c == '\f', c == 0xc2 && strings.HasPrefix(line[i:], "\u0085"),
			c == 0xe2 && (strings.HasPrefix(line[i:], "\u2028") || strings.HasPrefix(line[i:], "\u2029")):
			return true // there are more lines in it
		}
	}
	return false
}

// begins reports whether a text begins, after backslashes, with one of the signs, with one
// of the letters in any case, or with a character beyond ASCII, which may be a variant of a
// letter.
func begins(text, signs, letters string) bool {
	text = strings.TrimLeft(text, `\`)
	return text != "" && (text[0] >= 0x80 || strings.IndexByte(signs, text[0]) >= 0 ||
		strings.IndexByte(letters, text[0]|0x20) >= 0)
}

// roleStems begin the names in roles.
var roleStems = []string{"user", "human", "assistant", "system", "developer", "tool", "function", "model", "ai", "bot",
	"claude", "chatgpt", "gpt", "gemini", "operator", "admin"}

// mayLabel reports whether a line may begin with a label, a tag of a role or a
// title.
func mayLabel(line string) bool {
	for i := 0; i < len(line) && i <= 12; i++ {
		switch c := line[i]; {
		case c >= 0x80, c == '<', c == '[', c == '#' &&
			begins(strings.TrimPrefix(strings.TrimLeft(line[i+1:], `\`), " "), "", "cr"):
			return true
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			return mayRole(line[i:])
		case '0' <= c && c <= '9', c == '\\':
			return false
		}
	}
	return false
}

// mayRole reports whether a text may begin with the name of a role, with a colon or a
// mark somewhere after it.
func mayRole(text string) bool {
	for _, stem := range roleStems {
		n := min(len(stem), len(text))
		if strings.EqualFold(text[:n], stem) {
			return strings.ContainsAny(text, ":>：")
		}
		for k := range n {
			if text[k] >= 0x80 {
				return true
			}
		}
	}
	return false
}
