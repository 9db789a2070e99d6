// Command picture draws what a program printed on a terminal as an SVG image: it reads
// text with colour codes from standard input and writes the image to standard output.
//
//	scripts/picture > docs/demo.svg
//
// With -calls, lines that begin with a number are left out unless the number is in one of
// the ranges, and a line of dots takes their place.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

func main() {
	calls := flag.String("calls", "", "`ranges` of numbered lines to keep, such as 1-3,11-15")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *calls); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, calls string) error {
	keep, err := parseRanges(calls)
	if err != nil {
		return err
	}
	var rows [][]piece
	dots := false
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		row := split(strings.TrimRight(scanner.Text(), "\r"))
		if n, ok := callNumber(row); ok && !keep(n) {
			if !dots {
				rows = append(rows, []piece{{text: "  ⋮", style: style{dim: true}}})
			}
			dots = true
			continue
		}
		dots = false
		rows = append(rows, row)
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	return draw(out, rows)
}

// parseRanges returns a function that reports whether a number is in one of the ranges. No
// ranges hold all numbers.
func parseRanges(text string) (func(int) bool, error) {
	if text == "" {
		return func(int) bool { return true }, nil
	}
	var ranges [][2]int
	for _, r := range strings.Split(text, ",") {
		first, last, found := strings.Cut(r, "-")
		if !found {
			last = first
		}
		a, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("-calls %s: want ranges such as 1-3,11-15", text)
		}
		b, err := strconv.Atoi(last)
		if err != nil {
			return nil, fmt.Errorf("-calls %s: want ranges such as 1-3,11-15", text)
		}
		ranges = append(ranges, [2]int{a, b})
	}
	return func(n int) bool {
		for _, r := range ranges {
			if r[0] <= n && n <= r[1] {
				return true
			}
		}
		return false
	}, nil
}

// callNumber returns the number at the beginning of a row that is a call's.
func callNumber(row []piece) (int, bool) {
	if len(row) < 2 {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(row[0].text))
	return n, err == nil
}

// style is how a piece of text looks.
type style struct {
	bold, dim bool
	colour    string // "" for the terminal's own
}

// piece is a run of text of one style.
type piece struct {
	text string
	style
}

var escape = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// split splits a line at its colour codes.
func split(line string) (row []piece) {
	var now style
	for {
		at := escape.FindStringSubmatchIndex(line)
		if at == nil {
			if line != "" {
				row = append(row, piece{line, now})
			}
			return row
		}
		if at[0] > 0 {
			row = append(row, piece{line[:at[0]], now})
		}
		now = now.apply(line[at[2]:at[3]])
		line = line[at[1]:]
	}
}

// basic are the colours 30 to 37.
var basic = []string{"#484f58", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#e6edf3"}

func (s style) apply(codes string) style {
	numbers := strings.Split(codes, ";")
	for i := 0; i < len(numbers); i++ {
		n, _ := strconv.Atoi(numbers[i])
		switch {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case 30 <= n && n <= 37:
			s.colour = basic[n-30]
		case n == 38 && i+2 < len(numbers) && numbers[i+1] == "5":
			of256, _ := strconv.Atoi(numbers[i+2])
			s.colour = colourOf(of256)
			i += 2
		}
	}
	return s
}

// colourOf returns a colour of the cube of 256.
func colourOf(n int) string {
	if n < 16 || n > 231 {
		return basic[7]
	}
	n -= 16
	level := func(v int) int {
		if v == 0 {
			return 0
		}
		return 55 + 40*v
	}
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}

// The size of a character, in pixels.
const (
	width, height = 7.8, 17.0
	margin        = 16.0
)

func draw(out io.Writer, rows [][]piece) error {
	columns := 0
	for _, row := range rows {
		n := 0
		for _, p := range row {
			n += utf8.RuneCountInString(p.text)
		}
		columns = max(columns, n)
	}
	var b strings.Builder
	w, h := float64(columns)*width+2*margin, float64(len(rows))*height+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n")
	fmt.Fprintln(&b,
		`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13" fill="#e6edf3">`)
	for i, row := range rows {
		drawRow(&b, row, margin+float64(i)*height)
	}
	fmt.Fprintln(&b, "</g>\n</svg>")
	_, err := io.WriteString(out, b.String())
	return err
}

// drawRow draws a row whose upper edge is at top. Full blocks are rectangles, so that bars
// have no gaps.
func drawRow(b *strings.Builder, row []piece, top float64) {
	column := 0
	for _, p := range row {
		n := utf8.RuneCountInString(p.text)
		x := margin + float64(column)*width
		column += n
		colour := p.colour
		switch {
		case strings.Trim(p.text, " ") == "":
			continue
		case strings.Trim(p.text, "█") == "":
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, top+2,
				float64(n)*width, height-4, colour)
			continue
		}
		text := strings.TrimLeft(p.text, " ")
		indent := n - utf8.RuneCountInString(text)
		text = strings.TrimRight(text, " ")
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs"`,
			x+float64(indent)*width, top+12.5, float64(utf8.RuneCountInString(text))*width)
		if colour != "" {
			fmt.Fprintf(b, ` fill="%s"`, colour)
		}
		if p.bold {
			b.WriteString(` font-weight="bold"`)
		}
		if p.dim {
			b.WriteString(` opacity="0.6"`)
		}
		// Browsers join plain spaces in the texts of pictures.
		fmt.Fprintf(b, ">%s</text>\n", html.EscapeString(strings.ReplaceAll(text, " ", "\u00a0")))
	}
}
