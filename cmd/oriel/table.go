package main

import (
	"bytes"
	"slices"
	"strings"
)

// table is rows of cells that print aligns in columns.
type table struct {
	rows [][]string
	// left reports which columns are aligned to the left; numbers are not.
	left []bool
}

// row adds a row. Cells may contain foreign text.
func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = strings.NewReplacer("\n", " ", "\t", " ").Replace(printable(cells[i]))
	}
	t.rows = append(t.rows, cells)
}

func (t *table) writeTo(b *bytes.Buffer) {
	width := t.widths()
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			fill := strings.Repeat(" ", width[i]-cells(cell))
			if t.left[i] {
				line.WriteString(cell + fill)
			} else {
				line.WriteString(fill + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// widths returns the width of each column.
func (t *table) widths() []int {
	width := make([]int, len(t.left))
	for _, row := range t.rows {
		for i, cell := range row {
			width[i] = max(width[i], cells(cell))
		}
	}
	return width
}

// fit makes the rows at most width columns wide: it leaves out whole columns, in the order
// of drop, while the last column would get less than least, and then clips that one. The
// columns of drop must be given from the right to the left.
func (t *table) fit(width, least int, drop ...int) {
	for {
		room := t.lastRoom(width)
		if t.width() <= width {
			return
		}
		if room >= least || len(drop) == 0 {
			for _, row := range t.rows {
				row[len(row)-1] = clipCells(row[len(row)-1], max(room, 8))
			}
			return
		}
		t.drop(drop[0])
		drop = drop[1:]
	}
}

// narrow leaves out whole columns, in the order of drop, while the rows are wider than width.
// The columns of drop are numbered as they were at first.
func (t *table) narrow(width int, drop ...int) {
	for k, column := range drop {
		if t.width() <= width {
			return
		}
		at := column
		for _, before := range drop[:k] {
			if before < column {
				at--
			}
		}
		t.drop(at)
	}
}

// width returns the columns of the widest row.
func (t *table) width() int {
	sum := len("  ") * (len(t.left) - 1)
	for _, w := range t.widths() {
		sum += w
	}
	return sum
}

// lastRoom returns how many of width columns the others leave to the last one.
func (t *table) lastRoom(width int) int {
	last := len(t.left) - 1
	return width - t.width() + t.widths()[last]
}

// writeWrapped writes the rows with their last cells wrapped to width, under each other, or
// indented under the row where they would have little room.
func (t *table) writeWrapped(b *bytes.Buffer, width int) {
	last := len(t.left) - 1
	head := table{left: t.left[:last]}
	for _, row := range t.rows {
		head.rows = append(head.rows, row[:last])
	}
	indent, below := head.width()+len("  "), false
	if width-indent < leastWrapped {
		indent, below = 4, true
	}
	var heads bytes.Buffer
	head.writeTo(&heads)
	for i, line := range strings.Split(strings.TrimSuffix(heads.String(), "\n"), "\n") {
		for k, text := range wrap(t.rows[i][last], width-indent, 0) {
			if k == 0 && below {
				b.WriteString(line + "\n")
			}
			if k > 0 || below {
				line = ""
			}
			b.WriteString(strings.TrimRight(pad(line, indent)+text, " ") + "\n")
		}
	}
}

// leastWrapped is how many columns wrapped cells need to stand beside the others.
const leastWrapped = 30

// drop removes a column.
func (t *table) drop(column int) {
	t.left = slices.Delete(t.left, column, column+1)
	for i := range t.rows {
		t.rows[i] = slices.Delete(t.rows[i], column, column+1)
	}
}

// bar draws part of whole as a bar of at most width cells, in eighths of a
// cell.
func bar(part, whole, width int) string {
	if whole <= 0 || part <= 0 {
		return ""
	}
	eighths := max(1, part*width*8/whole)
	out := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		out += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return out
}
