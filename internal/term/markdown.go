package term

import (
	"regexp"
	"strings"
)

// bullet matches the beginning of a list item.
var bullet = regexp.MustCompile(`^(\s*)([-*+]|\d+[.)])\s+`)

// Markdown draws a text for a terminal: wrapped, headings and strong words in bold, code in
// colour. Without a width the text stays as it is. The text may have words of others.
func Markdown(text string, sc Screen) []string {
	text = strings.ReplaceAll(Printable(text), "\t", "    ")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if sc.Width == 0 {
		return lines
	}
	var out []string
	fence := "" // that of the block of code that the line is in
	for i := 0; i < len(lines); i++ {
		line, mark := lines[i], fenceOf(lines[i])
		switch {
		case fence != "" && strings.HasPrefix(mark, fence) && strings.Trim(line, " "+mark[:1]) == "":
			fence = ""
		case fence != "":
			for _, l := range Wrap("  "+line, sc.Width, 4) {
				out = append(out, sc.Style.Code("36", l))
			}
		case mark != "":
			fence = mark
		default:
			if rows := tableLines(lines[i:]); rows > 0 {
				out = append(out, drawTable(lines[i:i+rows], sc)...)
				i += rows - 1
				continue
			}
			out = append(out, markdownLine(line, sc)...)
		}
	}
	return out
}

// fenceOf returns the characters that begin or end a block of code; "" if the line does not.
func fenceOf(line string) string {
	line = strings.TrimSpace(line)
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, "`") {
			return line[:n]
		}
	}
	return ""
}

// markdownLine draws a line that is not in a block of code.
func markdownLine(line string, sc Screen) []string {
	trimmed := strings.TrimSpace(line)
	mark := bullet.FindString(line)
	if mark == "" && (strings.HasPrefix(trimmed, "|") || strings.HasPrefix(line, "    ")) { // a row of a table, or code
		return Wrap(line, sc.Width, 4)
	}
	if heading := strings.TrimLeft(trimmed, "#"); heading != trimmed && strings.HasPrefix(heading, " ") {
		var out []string
		for _, l := range Wrap(strings.ReplaceAll(strings.TrimSpace(heading), "**", ""), sc.Width, 0) {
			out = append(out, sc.Style.Bold(l))
		}
		return out
	}
	return inline(Wrap(line, sc.Width, Cells(mark)), sc.Style)
}

// inline draws strong words and code of a paragraph, which may go over several lines.
func inline(lines []string, s Style) []string {
	if !s.On {
		return lines
	}
	paragraph := strings.Join(lines, "\n")
	paragraph = strongWords.ReplaceAllStringFunc(paragraph,
		func(m string) string { return onLines("1", "22", strings.Trim(m, "*")) })
	paragraph = inlineCode.ReplaceAllStringFunc(paragraph,
		func(m string) string { return onLines("36", "39", strings.Trim(m, "`")) })
	return strings.Split(paragraph, "\n")
}

var (
	inlineCode  = regexp.MustCompile("`[^`]+`")
	strongWords = regexp.MustCompile(`\*\*[^*]+\*\*`)
)

// onLines colours a text line by line: a pager forgets colours at the end of a line.
// The second code ends what the first one began, and nothing else.
func onLines(begin, end, text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		rest := strings.TrimLeft(lines[i], " ")
		lines[i] = lines[i][:len(lines[i])-len(rest)] + "\x1b[" + begin + "m" + rest + "\x1b[" + end + "m"
	}
	return strings.Join(lines, "\n")
}
