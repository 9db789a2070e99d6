package term

import (
	"regexp"
	"slices"
	"strings"
)

// tableRule matches the second line of a Markdown table.
var tableRule = regexp.MustCompile(`^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$`)

// tableLines returns how many of the lines are the rows of a Markdown table that begins with
// the first one; 0 if none does.
func tableLines(lines []string) int {
	if len(lines) < 2 || !tableRule.MatchString(strings.TrimSpace(lines[1])) {
		return 0
	}
	n := 0
	for n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), "|") {
		n++
	}
	if n < 2 { // the rule is a line below a paragraph
		return 0
	}
	return n
}

const (
	columnGap = " │ "
	// leastColumn is the least width of a column whose cells are wrapped.
	leastColumn = 8
)

// drawTable draws a Markdown table within the width, its cells wrapped. A table with too many
// columns for that is drawn as it stands.
func drawTable(lines []string, sc Screen) []string {
	rows := [][]string{tableCells(lines[0])}
	for _, line := range lines[2:] {
		rows = append(rows, tableCells(line))
	}
	widths := fitColumns(rows, sc.Width)
	var out, rule []string
	if widths == nil {
		for _, line := range lines {
			out = append(out, Wrap(line, sc.Width, 4)...)
		}
		return out
	}
	for _, w := range widths {
		rule = append(rule, strings.Repeat("─", w))
	}
	for i, row := range rows {
		drawn := drawRow(row, widths)
		if i == 0 {
			for k := range drawn {
				drawn[k] = sc.Style.Bold(drawn[k])
			}
			drawn = append(drawn, strings.Join(rule, "─┼─"))
		}
		out = append(out, drawn...)
	}
	return out
}

// tableCells returns the cells of a row.
func tableCells(line string) []string {
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00") // text has no such character
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	row := strings.Split(strings.ReplaceAll(line, "**", ""), "|")
	for i := range row {
		row[i] = strings.TrimSpace(strings.ReplaceAll(row[i], "\x00", "|"))
	}
	return row
}

// fitColumns returns the widths of the columns, the widest narrowed until all fit; nil if
// they cannot.
func fitColumns(rows [][]string, width int) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Cells(cell))
		}
	}
	total := Cells(columnGap) * (len(widths) - 1)
	least := total
	for _, w := range widths {
		total, least = total+w, least+min(w, leastColumn)
	}
	if least > width {
		return nil
	}
	for ; total > width; total-- {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	return widths
}

// drawRow draws a row as lines, with its cells wrapped to the widths.
func drawRow(row []string, widths []int) []string {
	columns := make([][]string, len(widths))
	height := 0
	for i, cell := range row {
		columns[i] = Wrap(cell, widths[i], 0)
		height = max(height, len(columns[i]))
	}
	out := make([]string, height)
	for k := range out {
		parts := make([]string, len(widths))
		for i, lines := range columns {
			if k < len(lines) {
				parts[i] = lines[k]
			}
			parts[i] = Pad(parts[i], widths[i])
		}
		out[k] = strings.TrimRight(strings.Join(parts, columnGap), " ")
	}
	return out
}
