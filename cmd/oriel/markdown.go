package main

import (
	"regexp"
	"strings"
)

// bullet matches the beginning of a list item.
var bullet = regexp.MustCompile(`^(\s*)([-*+]|\d+[.)])\s+`)

// markdown draws a text for a terminal: wrapped, headings and strong words in bold, code in
// colour. Without a width the text stays as it is. The text may have words of others.
func markdown(text string, sc screen) []string {
	text = strings.ReplaceAll(printable(text), "\t", "    ")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if sc.width == 0 {
		return lines
	}
	var out []string
	code := false
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			code = !code
			if language := strings.Trim(trimmed, "`~ "); language != "" {
				out = append(out, sc.style.code("2", clipCells("  "+language, sc.width)))
			}
			continue
		}
		if code {
			for _, l := range wrap("  "+line, sc.width, 4) {
				out = append(out, sc.style.code("36", l))
			}
			continue
		}
		hang := 0
		if m := bullet.FindString(line); m != "" {
			hang = cells(m)
		} else if strings.HasPrefix(trimmed, "|") || strings.HasPrefix(line, "    ") { // a table, or code
			out = append(out, wrap(line, sc.width, 4)...)
			continue
		}
		heading := strings.HasPrefix(trimmed, "#") && strings.HasPrefix(strings.TrimLeft(trimmed, "#"), " ")
		if heading {
			line = strings.TrimSpace(strings.TrimLeft(trimmed, "#"))
			for _, l := range wrap(strings.ReplaceAll(line, "**", ""), sc.width, 0) {
				out = append(out, sc.style.bold(l))
			}
			continue
		}
		out = append(out, inline(wrap(line, sc.width, hang), sc.style)...)
	}
	return out
}

// inline draws strong words and code of a paragraph, which may go over several lines.
func inline(lines []string, s style) []string {
	if !s.on {
		return lines
	}
	paragraph := strings.Join(lines, "\n")
	paragraph = strongWords.ReplaceAllStringFunc(paragraph, func(m string) string { return onLines("1", "22", strings.Trim(m, "*")) })
	paragraph = inlineCode.ReplaceAllStringFunc(paragraph, func(m string) string { return onLines("36", "39", strings.Trim(m, "`")) })
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
