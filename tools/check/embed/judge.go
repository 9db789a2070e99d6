package embed

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/internal/vector/mat"
)

const (
	width = 384

	nearestF32  = 0.99999 // of float32 to ONNX Runtime, every text
	meanInt8    = 0.995   // of int8 to float32, on average
	worstInt8   = 0.98    // at worst
	overlapInt8 = 0.95    // of the ten nearest turns
	worstKernel = 0.999   // of a kernel to plain Go

	kernelTexts = 200
	floatTexts  = 300 // texts that are tried in batches with float32
)

type inputs struct {
	texts, f32, reference, usual string
	seed                         uint64
}

// A judgement is one run over the texts.
type judgement struct {
	inputs
	w      io.Writer
	texts  []text
	tokens []int // of each text; nil without a reference
	missed int
}

func judge(in inputs, w io.Writer) (missed int, err error) {
	j := &judgement{inputs: in, w: w}
	if j.texts, err = readTexts(in.texts); err != nil {
		return 0, err
	}
	file, err := os.ReadFile(in.f32)
	if err != nil {
		return 0, err
	}
	float, err := minilm.Read(file, minilm.Options{})
	if err != nil {
		return 0, err
	}
	defer float.Close()
	small, err := minilm.Open(minilm.Options{})
	if err != nil {
		return 0, err
	}
	defer small.Close()
	fmt.Fprintf(w, "%s: %d texts, kernel %s\n\n", small.Name(), len(j.texts), small.Kernel())

	f32, err := alone(float, j.texts)
	if err != nil {
		return 0, err
	}
	int8s, err := alone(small, j.texts)
	if err != nil {
		return 0, err
	}
	if err := j.accuracy(f32, int8s); err != nil {
		return 0, err
	}
	if err := j.batches(small, "int8", int8s, len(j.texts)); err != nil {
		return 0, err
	}
	if err := j.batches(float, "float32", f32, floatTexts); err != nil {
		return 0, err
	}
	return j.missed, j.kernels(file)
}

// accuracy compares the vectors of our two models with those of ONNX Runtime.
func (j *judgement) accuracy(f32, int8s [][]float32) error {
	var usual [][]float32
	fmt.Fprintln(j.w, "| vectors | texts | mean | p5 | worst | bar |\n|---|--:|--:|--:|--:|---|")
	if j.reference == "" {
		fmt.Fprintln(j.w, "| float32 to ONNX Runtime float32 | skipped: there is no reference | | | | |")
	} else {
		reference, err := readVectors(j.reference, len(j.texts))
		if err != nil {
			return err
		}
		if j.tokens, err = readTokens(j.reference+".tokens", len(j.texts)); err != nil {
			return err
		}
		c := cosines(f32, reference)
		worst := slices.Min(c)
		j.row("float32 to ONNX Runtime float32", c, j.bar(worst >= nearestF32, "worst %g", nearestF32))
		j.row("int8 to ONNX Runtime float32", cosines(int8s, reference), "")
	}
	c := cosines(int8s, f32)
	j.row("**int8 to float32**", c, j.bar(mean(c) >= meanInt8 && slices.Min(c) >= worstInt8, "mean %g, worst %g",
		meanInt8, worstInt8))
	if j.usual == "" {
		fmt.Fprintln(j.w, "| ONNX Runtime's usual int8 to float32 | skipped: there are no vectors of it | | | | |")
	} else {
		var err error
		if usual, err = readVectors(j.usual, len(j.texts)); err != nil {
			return err
		}
		j.row("ONNX Runtime's usual int8 to float32", cosines(usual, f32), "")
	}

	j.parts(c, usual, f32)
	j.worst(c)

	fmt.Fprintln(j.w,
		"\n| ten nearest turns, of float32's | asked by | int8 | usual int8 | bar |\n|---|---|--:|--:|---|")
	for _, kind := range []string{turn, question} {
		got, queries := j.overlap(kind, f32, int8s)
		if queries == 0 {
			fmt.Fprintf(j.w, "| | %ss | skipped: no LoCoMo among the texts | | |\n", kind)
			continue
		}
		theirs := "–"
		if usual != nil {
			o, _ := j.overlap(kind, f32, usual)
			theirs = fmt.Sprintf("%.4f", o)
		}
		bar := ""
		if kind == turn {
			bar = j.bar(got >= overlapInt8, "%g", overlapInt8)
		}
		fmt.Fprintf(j.w, "| | %d %ss | %.4f | %s | %s |\n", queries, kind, got, theirs, bar)
	}
	return nil
}

func (j *judgement) bar(held bool, format string, args ...any) string {
	if held {
		return fmt.Sprintf(format, args...) + ": held"
	}
	j.missed++
	return fmt.Sprintf(format, args...) + ": **MISSED**"
}

func (j *judgement) row(name string, c []float64, bar string) {
	s := slices.Sorted(slices.Values(c))
	fmt.Fprintf(j.w, "| %s | %d | %.6f | %.6f | %.6f | %s |\n", name, len(s), mean(s), s[len(s)/20], s[0], bar)
}

// parts prints the result of int8 by kind and by length, beside the usual
// int8.
func (j *judgement) parts(c []float64, usual, f32 [][]float32) {
	fmt.Fprintln(j.w,
		"\n| int8 to float32 | texts | mean | p5 | worst | usual int8: mean | worst |\n|---|--:|--:|--:|--:|--:|--:|")
	var theirs []float64
	if usual != nil {
		theirs = cosines(usual, f32)
	}
	show := func(name string, in func(i int) bool) {
		var own, other []float64
		for i := range c {
			if in(i) {
				own = append(own, c[i])
				if theirs != nil {
					other = append(other, theirs[i])
				}
			}
		}
		if len(own) == 0 {
			return
		}
		slices.Sort(own)
		fmt.Fprintf(j.w, "| %s | %d | %.5f | %.5f | %.5f |", name, len(own), mean(own), own[len(own)/20], own[0])
		if other == nil {
			fmt.Fprintln(j.w, " – | – |")
		} else {
			fmt.Fprintf(j.w, " %.5f | %.5f |\n", mean(other), slices.Min(other))
		}
	}
	var kinds []string
	for _, t := range j.texts {
		if !slices.Contains(kinds, t.Kind) {
			kinds = append(kinds, t.Kind)
		}
	}
	for _, k := range kinds {
		show(k, func(i int) bool { return j.texts[i].Kind == k })
	}
	if j.tokens == nil {
		return
	}
	for low := 1; low < 256; low *= 2 {
		high := low*2 - 1
		show(fmt.Sprintf("%d to %d tokens", low, high), func(i int) bool {
			return low <= j.tokens[i] &&
				j.tokens[i] <= high
		})
	}
	show("256 tokens, most of them cut", func(i int) bool { return j.tokens[i] == 256 })
}

// worst prints the ten texts with the worst int8 vectors.
func (j *judgement) worst(c []float64) {
	order := make([]int, len(c))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case c[a] < c[b]:
			return -1
		case c[a] > c[b]:
			return 1
		}
		return 0
	})
	fmt.Fprintln(j.w, "\n| int8, the worst | kind | tokens | text |\n|--:|---|--:|---|")
	for _, i := range order[:min(10, len(order))] {
		tokens := "–"
		if j.tokens != nil {
			tokens = fmt.Sprint(j.tokens[i])
		}
		fmt.Fprintf(j.w, "| %.5f | %s | %s | `%s` |\n", c[i], j.texts[i].Kind, tokens, excerpt(j.texts[i].Text))
	}
}

func excerpt(s string) string {
	const most = 70
	s = strings.Map(func(r rune) rune {
		switch r {
		case '`', '|':
			return '\''
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most-1]) + "…"
	}
	return s
}

// overlap returns how many of the ten nearest turns by a are also among the
// ten nearest by b, as a share, for texts of a kind within their conversation.
func (j *judgement) overlap(kind string, a, b [][]float32) (share float64, queries int) {
	const ten = 10
	turns := map[int][]int{}
	for i, t := range j.texts {
		if t.Group > 0 && t.Kind == turn {
			turns[t.Group] = append(turns[t.Group], i)
		}
	}
	found := 0
	for i, t := range j.texts {
		if t.Group == 0 || t.Kind != kind || len(turns[t.Group]) <= ten {
			continue
		}
		queries++
		want := nearest(a, i, turns[t.Group], ten)
		for _, n := range nearest(b, i, turns[t.Group], ten) {
			if slices.Contains(want, n) {
				found++
			}
		}
	}
	return float64(found) / float64(max(1, ten*queries)), queries
}

func nearest(vectors [][]float32, query int, among []int, n int) []int {
	type scored struct {
		at    int
		score float64
	}
	var all []scored
	for _, i := range among {
		if i != query {
			all = append(all, scored{i, dot(vectors[query], vectors[i])})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.at - b.at
	})
	out := make([]int, 0, n)
	for _, s := range all[:n] {
		out = append(out, s.at)
	}
	return out
}

// batches embeds n of the texts in random order and in batches of random size;
// want holds the vectors of the texts alone.
func (j *judgement) batches(m *minilm.Model, name string, want [][]float32, n int) error {
	random := rand.New(rand.NewPCG(j.seed, 1))
	order := random.Perm(len(j.texts))
	order = order[:min(n, len(order))]
	different, sizes := 0, 0
	for rest := order; len(rest) > 0; sizes++ {
		batch := rest[:min(len(rest), 1+random.IntN(64))]
		rest = rest[len(batch):]
		var texts []string
		for _, i := range batch {
			texts = append(texts, j.texts[i].Text)
		}
		got, err := m.Embed(context.Background(), texts)
		if err != nil {
			return err
		}
		for k, i := range batch {
			if !slices.EqualFunc(got[k], want[i],
				func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
				different++
			}
		}
	}
	fmt.Fprintf(j.w, "\n%s, alone and in %d random batches: %d of %d texts differ in a bit; %s\n",
		name, sizes, different, len(order), j.bar(different == 0, "bar 0"))
	return nil
}

// kernels compares every kernel with plain Go on some texts.
func (j *judgement) kernels(f32 []byte) error {
	random := rand.New(rand.NewPCG(j.seed, 2))
	var texts []text
	for _, i := range random.Perm(len(j.texts))[:min(kernelTexts, len(j.texts))] {
		texts = append(texts, j.texts[i])
	}
	fmt.Fprintf(j.w,
		"\n| kernel to plain Go, %d texts | weights | largest difference | worst cosine | bar |\n|---|---|--:|--:|---|\n", len(texts))
	all := mat.All()
	for _, weights := range []string{"int8", "float32"} {
		run := func(kernel string) ([][]float32, error) {
			opts := minilm.Options{Kernel: kernel}
			m, err := minilm.Open(opts)
			if weights == "float32" {
				m, err = minilm.Read(f32, opts)
			}
			if err != nil {
				return nil, err
			}
			defer m.Close()
			return alone(m, texts)
		}
		plain, err := run(all[len(all)-1].Name)
		if err != nil {
			return err
		}
		for _, k := range all[:len(all)-1] {
			got, err := run(k.Name)
			if err != nil {
				return err
			}
			worst := slices.Min(cosines(got, plain))
			fmt.Fprintf(j.w, "| %s | %s | %.2g | %.7f | %s |\n", k.Name, weights, largest(got, plain), worst,
				j.bar(worst >= worstKernel, "worst %g", worstKernel))
		}
	}
	return nil
}
