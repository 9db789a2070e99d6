package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/report/replay"
	"github.com/oriel-context/oriel/internal/term"
)

// The size of a chart and of the space for its labels.
const (
	width, height = 860, 260
	left, bottom  = 64, 26
	mostPoints    = 600
)

// chart is a line chart under construction. All that it writes are its own numbers and words.
type chart struct {
	b    strings.Builder
	x, y float64 // the largest values
}

func newChart(x, y float64, label func(float64) string, across string) *chart {
	step := niceStep(y / 4)
	c := &chart{x: max(1, x), y: step * math.Ceil(max(y, step)/step)}
	fmt.Fprintf(&c.b, `<svg viewBox="0 0 %d %d" role="img">`, width, height)
	for v := 0.0; v < c.y+step/2; v += step {
		fmt.Fprintf(&c.b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, left, width, c.down(v), c.down(v))
		fmt.Fprintf(&c.b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, left-8, c.down(v)+4,
			template.HTMLEscapeString(label(v)))
	}
	fmt.Fprintf(&c.b, `<text x="%d" y="%d">1</text><text x="%d" y="%d" text-anchor="end">%s %s</text>`, left, height-6,
		width, height-6, term.Thousands(int(x)), template.HTMLEscapeString(across))
	return c
}

// niceStep returns the next larger step between labels that people count in.
func niceStep(least float64) float64 {
	if least <= 0 {
		return 1
	}
	ten := math.Pow(10, math.Floor(math.Log10(least)))
	for _, n := range []float64{1, 2, 2.5, 5} {
		if n*ten >= least {
			return n * ten
		}
	}
	return 10 * ten
}

func (c *chart) along(x float64) float64 { return left + (width-left)*x/c.x }

func (c *chart) down(y float64) float64 { return 10 + (height-bottom-10)*(1-y/c.y) }

// line draws values, of which it thins out what nobody could see.
func (c *chart) line(class string, values []float64) {
	step := max(1, len(values)/mostPoints)
	c.b.WriteString(`<polyline class="` + class + `" points="`)
	for i := 0; i < len(values); i += step {
		v := slices.Max(values[i:min(len(values), i+step)])
		fmt.Fprintf(&c.b, "%.1f,%.1f ", c.along(float64(i)), c.down(v))
	}
	c.b.WriteString(`"/>`)
}

// mark draws a vertical line.
func (c *chart) mark(class string, x int) {
	at := c.along(float64(x))
	fmt.Fprintf(&c.b, `<line class="%s" x1="%.1f" x2="%.1f" y1="10" y2="%d"/>`, class, at, at, height-bottom)
}

func (c *chart) done() template.HTML { return template.HTML(c.b.String() + `</svg>`) }

// curves draws the cost of each policy, call after call.
func curves(r *replay.Report, money func(float64) string) template.HTML {
	list := slices.Clone(r.Sessions)
	slices.SortStableFunc(list, func(a, b *replay.Session) int { return a.Began.Compare(b.Began) })
	var all [][]float64
	for _, s := range list {
		if r.Priced > 0 && !s.Priced {
			continue
		}
		for i, o := range s.Outcomes {
			if i == len(all) {
				all = append(all, []float64{0})
			}
			for _, p := range o.Points {
				all[i] = append(all[i], all[i][len(all[i])-1]+p.Cost)
			}
		}
	}
	if len(all) == 0 || len(all[0]) < 3 {
		return ""
	}
	most := 0.0
	for _, values := range all {
		most = max(most, values[len(values)-1])
	}
	c := newChart(float64(len(all[0])-1), most, money, "calls")
	for i, values := range all {
		c.line(colour(i), values)
	}
	return c.done()
}

// teeth draws the prompts of a session by each policy: each cut is a tooth of a saw.
func teeth(s *replay.Session) template.HTML {
	most := 0
	for _, o := range s.Outcomes {
		most = max(most, o.Longest)
	}
	c := newChart(float64(s.Calls), float64(most), func(v float64) string { return term.Compact(int(v)) }, "calls")
	for i, p := range s.Outcomes[0].Points {
		if p.Idle {
			c.mark("idle", i)
		}
	}
	for i, o := range s.Outcomes {
		values := make([]float64, len(o.Points))
		for k, p := range o.Points {
			values[k] = float64(p.Prompt)
		}
		if len(values) > 0 {
			c.line(colour(i), values)
		}
	}
	return c.done()
}
