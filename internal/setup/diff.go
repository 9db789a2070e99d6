package setup

import "strings"

// context is how many unchanged lines stand around a change.
const context = 2

// diff returns the lines that differ between two texts, with some around them.
func diff(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	if before == "" {
		a = nil
	}
	begin := 0
	for begin < len(a) && begin < len(b) && a[begin] == b[begin] {
		begin++
	}
	end := 0
	for end < len(a)-begin && end < len(b)-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out []string
	line := func(sign, text string) { out = append(out, strings.TrimRight(sign+text, " \r")) }
	for i := max(0, begin-context); i < begin; i++ {
		line("  ", a[i])
	}
	for _, step := range steps(a[begin:len(a)-end], b[begin:len(b)-end]) {
		line(step.sign, step.text)
	}
	for i := len(a) - end; i < min(len(a), len(a)-end+context); i++ {
		line("  ", a[i])
	}
	return strings.TrimSuffix(strings.TrimRight(strings.Join(collapse(out), "\n"), "\n "), "\n+")
}

type diffStep struct{ sign, text string }

// steps returns the shortest way from a to b, by their longest common lines.
func steps(a, b []string) (out []diffStep) {
	if len(a)*len(b) > 4_000_000 { // too much to compare
		for _, t := range a {
			out = append(out, diffStep{"- ", t})
		}
		for _, t := range b {
			out = append(out, diffStep{"+ ", t})
		}
		return out
	}
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			if common[i][k] = max(common[i+1][k], common[i][k+1]); a[i] == b[k] {
				common[i][k] = common[i+1][k+1] + 1
			}
		}
	}
	i, k := 0, 0
	for i < len(a) || k < len(b) {
		switch {
		case i < len(a) && k < len(b) && a[i] == b[k]:
			out = append(out, diffStep{"  ", a[i]})
			i, k = i+1, k+1
		case i < len(a) && (k == len(b) || common[i+1][k] >= common[i][k+1]):
			out = append(out, diffStep{"- ", a[i]})
			i++
		default:
			out = append(out, diffStep{"+ ", b[k]})
			k++
		}
	}
	return out
}

// collapse leaves out unchanged lines far from a change.
func collapse(lines []string) []string {
	changed := func(i int) bool {
		return i >= 0 && i < len(lines) && (strings.HasPrefix(lines[i], "-") || strings.HasPrefix(lines[i], "+"))
	}
	var out []string
	for i := range lines {
		near := false
		for n := -context; n <= context; n++ {
			near = near || changed(i+n)
		}
		switch {
		case near:
			out = append(out, lines[i])
		case len(out) > 0 && out[len(out)-1] != "  …":
			out = append(out, "  …")
		}
	}
	return out
}
