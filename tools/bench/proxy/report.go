package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/oriel-context/oriel/tools/bench/harness"
)

// targets holds, by the end of the body's name, the CPU ms without what is
// done after the answer, and ms that the median call takes longer than a direct one.
var targets = map[string][2]float64{" 2 kB": {0.25, 0.3}, " 200 kB": {0.8, 1}, " 1 MB": {3, 4}}

func target(k kind, i int) string {
	for end, v := range targets {
		if strings.HasSuffix(k.name, end) {
			return fmt.Sprintf("≤ %.3g", v[i])
		}
	}
	return ""
}

func report(w io.Writer, all []*contender, cells map[key]*cell, memory map[string]*growth) {
	table := func(title string, stream bool, target func(k kind) string,
		show func(c *contender, own, direct *cell) string) {
		fmt.Fprintf(w, "\n%s\n\n| |", title)
		for _, k := range kinds {
			fmt.Fprintf(w, " %s |", k.name)
		}
		fmt.Fprintf(w, "\n|---|%s", strings.Repeat("--:|", len(kinds)))
		for _, c := range all {
			row := fmt.Sprintf("\n| %s |", c.name)
			said := false
			for _, k := range kinds {
				text := "failed"
				own := cells[key{k.name, stream, c.name}]
				if own != nil && own.bad == nil {
					text = show(c, own, cells[key{k.name, stream, "direct"}])
				}
				said = said || text != ""
				row += " " + text + " |"
			}
			if said && c.down == "" {
				fmt.Fprint(w, row)
			}
		}
		fmt.Fprint(w, "\n| target |")
		for _, k := range kinds {
			fmt.Fprintf(w, " %s |", target(k))
		}
		fmt.Fprintln(w)
	}
	cpu := func(c *contender, own, _ *cell) string {
		if c.process == nil {
			return ""
		}
		return fmt.Sprintf("%.3g (%.2g)", harness.Median(own.busy), harness.Median(own.after))
	}
	cpuTarget := func(k kind) string { return target(k, 0) }
	addedTarget := func(k kind) string { return target(k, 1) }
	table("CPU ms a call, all work (of it after the answer's end)", false, cpuTarget, cpu)
	table("CPU ms a call, all work (of it after the answer's end), streamed", true, cpuTarget, cpu)
	table("added ms, p50 / p95 (direct: absolute)", false, addedTarget,
		func(c *contender, own, direct *cell) string { return added(c, own.all, direct.all) })
	table("added ms, p50 / p95 (direct: absolute), calls apart", false, addedTarget,
		func(c *contender, own, direct *cell) string { return added(c, own.apart, direct.apart) })
	table("added ms until the first byte of a stream, p50 / p95 (direct: absolute)", true, addedTarget,
		func(c *contender, own, direct *cell) string { return added(c, own.first, direct.first) })
	fmt.Fprintf(w, "\nstart and memory\n\n| | start to first answer, s | MB at first | MB at half of the calls | highest of the second half | MB at the end | calls |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range all {
		g := memory[c.name]
		switch {
		case g == nil:
		case g.unwilling != nil:
			fmt.Fprintf(w, "| %s | %.2f | failed after %d calls: %.100v |\n", c.name, harness.Median(g.starts), g.calls,
				g.unwilling)
		case len(g.samples) > 0:
			half := g.samples[len(g.samples)/2:]
			fmt.Fprintf(w, "| %s | %.3f | %.0f | %.0f | %.0f | %.0f | %d |\n", c.name, harness.Median(g.starts),
				g.begin, half[0], harness.Quantile(half, 1), half[len(half)-1], g.calls)
		}
	}
	fmt.Fprintln(w, "| target | ≤ 0.3 | | | | ≤ 150, flat | |")
	fmt.Fprintln(w)
	for _, c := range all {
		if c.down != "" {
			fmt.Fprintf(w, "%s was not measured: %s\n", c.name, c.down)
		}
		for _, k := range kinds {
			for _, stream := range []bool{false, true} {
				if own := cells[key{k.name, stream, c.name}]; own != nil && own.bad != nil {
					fmt.Fprintf(w, "%s failed with %s, streamed %t: %.200v\n", c.name, k.name, stream, own.bad)
				}
			}
		}
	}
}

// reportAgainst compares each profile with the earlier version.
func reportAgainst(w io.Writer, all []*contender, cells map[key]*cell) {
	for _, stream := range []bool{false, true} {
		fmt.Fprintf(w, "\nCPU ms a call, all work, streamed %t\n\n| |", stream)
		for _, k := range kinds {
			fmt.Fprintf(w, " %s |", k.name)
		}
		fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("--:|", len(kinds)))
		for i, c := range all {
			fmt.Fprintf(w, "| %s |", c.name)
			for _, k := range kinds {
				own := cells[key{k.name, stream, c.name}]
				switch {
				case own == nil || own.bad != nil: // with full, a body over the window is cut
					fmt.Fprint(w, " – |")
				case i%2 == 0:
					fmt.Fprintf(w, " %.3g |", harness.Median(own.busy))
				default:
					// Round by round, because the machine changes between
					// rounds.
					var ratios []float64
					for j, before := range cells[key{k.name, stream, all[i-1].name}].busy {
						ratios = append(ratios, own.busy[j]/before)
					}
					fmt.Fprintf(w, " %.3g (%.2f×) |", harness.Median(own.busy), harness.Median(ratios))
				}
			}
			fmt.Fprintln(w)
		}
	}
}

func added(c *contender, own, direct []float64) string {
	p50, p95 := harness.Median(own), harness.Quantile(own, 0.95)
	if c.command != nil {
		p50, p95 = p50-harness.Median(direct), p95-harness.Quantile(direct, 0.95)
	}
	return fmt.Sprintf("%.3g / %.3g", p50, p95)
}
