package term

import (
	"bytes"
	"slices"
	"strings"
)

// Table is rows of cells that print aligns in columns.
type Table struct {
	Rows [][]string
	// Left reports which columns are aligned to the left; numbers are not.
	Left []bool
}

// Row adds a row. Cells may contain foreign text.
func (t *Table) Row(cells ...string) {
	for i := range cells {
		cells[i] = strings.NewReplacer("\n", " ", "\t", " ").Replace(Printable(cells[i]))
	}
	t.Rows = append(t.Rows, cells)
}

func (t *Table) Draw(b *bytes.Buffer) {
	width := t.Widths()
	for _, row := range t.Rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			fill := strings.Repeat(" ", width[i]-Cells(cell))
			if t.Left[i] {
				line.WriteString(cell + fill)
			} else {
				line.WriteString(fill + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// Widths returns the width of each column.
func (t *Table) Widths() []int {
	width := make([]int, len(t.Left))
	for _, row := range t.Rows {
		for i, cell := range row {
			width[i] = max(width[i], Cells(cell))
		}
	}
	return width
}

// Fit makes the rows at most width columns wide: it leaves out whole columns, in the order
// of drop, while the last column would get less than least, and then clips that one. The
// columns of drop must be given from the right to the left.
func (t *Table) Fit(width, least int, drop ...int) {
	for {
		room := t.LastRoom(width)
		if t.Width() <= width {
			return
		}
		if room >= least || len(drop) == 0 {
			for _, row := range t.Rows {
				row[len(row)-1] = Clip(row[len(row)-1], max(room, 8))
			}
			return
		}
		t.Drop(drop[0])
		drop = drop[1:]
	}
}

// Narrow leaves out whole columns, in the order of drop, while the rows are wider than width.
// The columns of drop are numbered as they were at first.
func (t *Table) Narrow(width int, drop ...int) {
	for k, column := range drop {
		if t.Width() <= width {
			return
		}
		at := column
		for _, before := range drop[:k] {
			if before < column {
				at--
			}
		}
		t.Drop(at)
	}
}

// Width returns the columns of the widest row.
func (t *Table) Width() int {
	sum := len("  ") * (len(t.Left) - 1)
	for _, w := range t.Widths() {
		sum += w
	}
	return sum
}

// LastRoom returns how many of width columns the others leave to the last one.
func (t *Table) LastRoom(width int) int {
	last := len(t.Left) - 1
	return width - t.Width() + t.Widths()[last]
}

// DrawWrapped writes the rows with their last cells wrapped to width, under each other, or
// indented under the row where they would have little room.
func (t *Table) DrawWrapped(b *bytes.Buffer, width int) {
	last := len(t.Left) - 1
	head := Table{Left: t.Left[:last]}
	for _, row := range t.Rows {
		head.Rows = append(head.Rows, row[:last])
	}
	indent, below := head.Width()+len("  "), false
	if width-indent < LeastWrapped {
		indent, below = 4, true
	}
	var heads bytes.Buffer
	head.Draw(&heads)
	for i, line := range strings.Split(strings.TrimSuffix(heads.String(), "\n"), "\n") {
		for k, text := range Wrap(t.Rows[i][last], width-indent, 0) {
			if k == 0 && below {
				b.WriteString(line + "\n")
			}
			if k > 0 || below {
				line = ""
			}
			b.WriteString(strings.TrimRight(Pad(line, indent)+text, " ") + "\n")
		}
	}
}

// LeastWrapped is how many columns wrapped cells need to stand beside the others.
const LeastWrapped = 30

// Drop removes a column.
func (t *Table) Drop(column int) {
	t.Left = slices.Delete(t.Left, column, column+1)
	for i := range t.Rows {
		t.Rows[i] = slices.Delete(t.Rows[i], column, column+1)
	}
}

// Bar draws part of whole as a bar of at most width cells, in eighths of a
// cell.
func Bar(part, whole, width int) string {
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
