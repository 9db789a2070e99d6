package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/tools/bench/harness"
)

// quiet is how many processors other programs may use before wall times are
// meaningless.
const quiet = 0.1

// batchTexts is the number of texts in the batch.
const batchTexts = 256

// find returns the contender with a name and number of threads.
func (c *comparison) find(name string, threads int) *process {
	for _, p := range slices.Concat(c.contenders, c.twoThreads) {
		if p.name == name && p.threads == threads {
			return p
		}
	}
	return nil
}

// perText returns the median milliseconds per text, or 0 if it was not
// measured.
func (p *process) perText(name string) float64 {
	if p == nil || len(p.ms[name]) == 0 {
		return 0
	}
	ms := harness.Median(p.ms[name])
	if name == batch {
		ms /= batchTexts
	}
	return ms
}

func (c *comparison) report(w io.Writer) {
	fmt.Fprintln(w, "Milliseconds from a text to its vector, tokens cut and counted by each side itself, by length in tokens; medians.")
	fmt.Fprintf(w, "Texts come one at a time, and last as a batch of %d of mixed lengths. One thread: CPU time of the process; two: wall time.\n", batchTexts)
	c.table(w, "ms", func(p *process, name string) string { return number(p.perText(name)) })
	for _, rival := range []string{c.nameORTInt8, c.nameORTFull} {
		c.table(w, "× "+rival, func(p *process, name string) string {
			theirs, own := c.find(rival, p.threads).perText(name), p.perText(name)
			if theirs == 0 || own == 0 {
				return ""
			}
			return fmt.Sprintf("%.2f", theirs/own)
		})
	}
	fmt.Fprintln(w, "\nAbove 1 is faster than the rival. A batch of ORT is the better of: sorted by length and padded in batches of 32; one by one:")
	for _, p := range slices.Concat(c.contenders, c.twoThreads) {
		if p.rival {
			fmt.Fprintf(w, "%s, %d threads: %s and %s ms a text.\n", p.name, p.threads,
				number(harness.Median(p.ms[batchSorted])/batchTexts),
				number(harness.Median(p.ms[batchEach])/batchTexts))
		}
	}
	fmt.Fprintf(w, "\nOther programs used %.2f processors meanwhile, and %.2f during the samples with two threads.\n",
		c.others[0], c.others[1])
	if c.others[1] > quiet {
		fmt.Fprintln(w, "**That is too much for wall times: the figures for two threads say nothing. Run this again on a quiet machine.**")
	}
	fmt.Fprintln(w, "\n| | samples | fastest–slowest at 64 | first vector, ms | of it loading | resident growth, MB | beyond the weights | allocations a call, 1 text | bytes | of a batch | bytes |\n|---|"+strings.Repeat("--:|", 10))
	for _, p := range c.contenders {
		s := p.ms["64"]
		fmt.Fprintf(w, "| %s | %d | %s–%s | %.0f | %.0f | %.1f | %.1f |", p.name, len(s), number(slices.Min(s)),
			number(slices.Max(s)),
			harness.Median(p.up), harness.Median(p.loaded), mb(p.resident), mb(p.resident-p.file))
		if p.rival {
			fmt.Fprintln(w, " | | | |")
			continue
		}
		for _, name := range []string{"32", batch} {
			if a, ok := p.allocations[name]; ok {
				fmt.Fprintf(w, " %.1f | %.0f |", a[0], a[1])
			} else {
				fmt.Fprint(w, " | |")
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "\nThe first vector counts from the start of the process, which for ORT includes Python and its imports; loading does not.")
	fmt.Fprintln(w, "Memory is what is resident after all cases; for ORT the padded batches are the most of it.")
}

func mb(n int64) float64 { return float64(n) / 1e6 }

func (c *comparison) table(w io.Writer, title string, cell func(p *process, name string) string) {
	fmt.Fprintf(w, "\n| %s |", title)
	for _, n := range lengths {
		fmt.Fprintf(w, " %s |", n)
	}
	fmt.Fprintln(w, " batch | batch, 2 threads |\n|---|"+strings.Repeat("--:|", len(lengths)+2))
	for _, p := range c.contenders {
		fmt.Fprintf(w, "| %s |", p.name)
		for _, n := range append(slices.Clone(lengths), batch) {
			fmt.Fprintf(w, " %s |", cell(p, n))
		}
		second := ""
		if two := c.find(p.name, 2); two != nil {
			second = cell(two, batch)
		}
		fmt.Fprintf(w, " %s |\n", second)
	}
}

func number(x float64) string {
	switch {
	case x == 0:
		return ""
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

func (c *comparison) writeJSON(w io.Writer) error {
	type row struct {
		Name        string                `json:"name"`
		Threads     int                   `json:"threads"`
		Clock       string                `json:"clock"`
		PerText     map[string]float64    `json:"ms_per_text"`
		TimesInt8   map[string]float64    `json:"times_ort_int8"`
		TimesF32    map[string]float64    `json:"times_ort_f32"`
		Samples     map[string][]float64  `json:"ms_per_call"`
		First       float64               `json:"first_vector_ms"`
		Loading     float64               `json:"loading_ms"`
		Others      float64               `json:"processors_used_by_others"`
		Resident    int64                 `json:"resident_growth"`
		Beyond      int64                 `json:"resident_growth_beyond_weights"`
		Allocations map[string][2]float64 `json:"allocations_and_bytes_per_call,omitempty"`
	}
	var rows []row
	for _, p := range slices.Concat(c.contenders, c.twoThreads) {
		r := row{Name: p.name, Threads: p.threads, Clock: "cpu", Samples: p.ms, First: harness.Median(p.up),
			Loading:  harness.Median(p.loaded),
			Resident: p.resident, Beyond: p.resident - p.file, Allocations: p.allocations,
			PerText: map[string]float64{}, TimesInt8: map[string]float64{}, TimesF32: map[string]float64{}}
		r.Others = c.others[0]
		if p.threads > 1 {
			r.Clock, r.Others = "wall", c.others[1]
		}
		for _, n := range append(slices.Clone(lengths), batch) {
			own := p.perText(n)
			if own == 0 {
				continue
			}
			r.PerText[n] = own
			r.TimesInt8[n] = c.find(c.nameORTInt8, p.threads).perText(n) / own
			r.TimesF32[n] = c.find(c.nameORTFull, p.threads).perText(n) / own
		}
		rows = append(rows, r)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(rows)
}
