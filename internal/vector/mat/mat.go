// Package mat has the matrix and row kernels of a small transformer encoder:
// int8 weights times quantised activations, float32 products for attention,
// layer norm, softmax and GELU.
//
// Every kernel exists as plain Go, which is its definition, and for some CPUs
// as assembly; [All] lists those that this machine can run and [Choose]
// picks one. Products of int8 matrices and quantised rows are exact integers, so they
// are the same in every kernel; float32 results agree within rounding. In all
// kernels an output row depends on its input row alone: how many rows are
// computed together never changes a bit of the result.
//
// Slices are checked here, at the border, and not in the assembly: a slice that
// is too short panics as an index out of range.
package mat

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	// Row counts must be multiples of Tile: callers pad their buffers.
	Tile = 4
	// The columns of a float32 product must be a multiple of Lane.
	Lane = 16
	// Panel is how many columns of an int8 matrix are packed together.
	Panel = 32
	// Step is how many rows of an int8 matrix are packed together. Its row
	// count must be a multiple of it.
	Step = 4
)

// Row holds how a row of activations was quantised: x ≈ Scale·(q − Zero).
type Row struct {
	Scale float32
	Zero  int32
}

// Matrix is a K×N matrix of int8 weights with a scale for each column, plus the
// bias of the linear layer that it belongs to.
type Matrix struct {
	K, N int
	// Weights are packed as [N/Panel][K/Step][Panel][Step]: the four weights
	// of a column that are multiplied with four adjacent activations are
	// adjacent.
	Weights []int8
	Scale   []float32 // by column
	Sum     []int32   // by column, of its weights: the effect of a zero point of 1
	Bias    []float32 // by column
}

// Index returns the position of a weight in a packed matrix of k rows.
func Index(k, row, column int) int {
	return (column/Panel)*k*Panel + (row/Step)*Panel*Step + (column%Panel)*Step + row%Step
}

// Kernels is one implementation of all operations.
type Kernels struct {
	// Name is the required CPU feature, such as avx2, or "go".
	Name string

	// Linear sets the rows of c to the product of the quantised rows in a with
	// w, plus w's bias; with add set it adds them to what c holds. There are
	// len(rows) rows, a multiple of Tile, w.K apart in a and ldc apart in c.
	Linear func(c []float32, ldc int, a []uint8, rows []Row, w *Matrix, add bool)

	// Mul sets c (m×n) to a (m×k) times b (k×n), each row i multiplied by
	// scale[i] unless scale is nil. m is a multiple of Tile and n of Lane; ldc,
	// lda and ldb are the distances between rows.
	Mul func(c []float32, ldc int, a []float32, lda int, b []float32, ldb int, m, n, k int, scale []float32)

	// Transpose sets dst[j][i] = src[i][j] for i below rows and j below cols,
	// both multiples of Lane.
	Transpose func(dst []float32, ldd int, src []float32, lds int, rows, cols int)

	// Quantise multiplies x by the channel weights in by, value by value, and
	// writes the products to q in steps of a 255th of their range, which always
	// includes zero, rounding half to even. x itself is left as it is. len(x)
	// is a multiple of Panel.
	Quantise func(q []uint8, x, by []float32) Row

	// Norm makes x's mean 0 and its variance 1, then multiplies by gamma and
	// adds beta. len(x) is a multiple of Lane.
	Norm func(x, gamma, beta []float32)

	// GELU replaces x by x·Φ(x), with the exact normal distribution and not
	// its tanh approximation. len(x) is a multiple of Lane.
	GELU func(x []float32)

	// Softmax replaces the first n values of x by exp(scale·(x−max)) and
	// the rest by zero. It returns the inverse of their sum, by which the
	// caller multiplies where that is cheapest. len(x) is a multiple of Lane,
	// n ≥ 1.
	Softmax func(x []float32, n int, scale float32) float32
}

// All lists the kernels that this CPU can run, the best first and plain Go last.
func All() []Kernels { return append(slices.Clone(native), plain) }

// Variable names the environment variable that forces a set of kernels or
// switches some off.
const Variable = "ORIEL_KERNEL"

// known are the names of all sets, on any machine.
var known = []string{"avx512vnni", "avx2", "neondot", "neon", "go"}

// Choose returns the kernels called name. If name is "", the environment variable
// ORIEL_KERNEL decides: it names a set ("avx2") or lists sets to avoid with minus
// signs ("-avx512vnni"). Otherwise Choose returns the first of [All].
func Choose(name string) (Kernels, error) {
	if name != "" {
		return choose(name, All())
	}
	k, err := choose(os.Getenv(Variable), All())
	if err != nil {
		err = fmt.Errorf("$%s: %w", Variable, err)
	}
	return k, err
}

func choose(wish string, all []Kernels) (Kernels, error) {
	var off []string
	for _, word := range strings.FieldsFunc(wish, func(r rune) bool { return r == ',' || r == ' ' }) {
		if name, ok := strings.CutPrefix(word, "-"); ok {
			if !slices.Contains(known, name) {
				return Kernels{}, fmt.Errorf("unknown kernels %q; known are %s", name, strings.Join(known, ", "))
			}
			off = append(off, name)
			continue
		}
		for _, k := range all {
			if k.Name == word {
				return k, nil
			}
		}
		return Kernels{}, fmt.Errorf("this machine does not have kernels %q; it has %s", word, names(all))
	}
	for _, k := range all {
		if !slices.Contains(off, k.Name) {
			return k, nil
		}
	}
	return Kernels{}, fmt.Errorf("%q switches off all kernels that this machine has: %s", wish, names(all))
}

func names(all []Kernels) string {
	var s []string
	for _, k := range all {
		s = append(s, k.Name)
	}
	return strings.Join(s, ", ")
}
