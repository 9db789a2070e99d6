//go:build arm64 && !noasm

package vector

// native returns the scanner of a set of kernels, or nil if it has none of its own:
// a CPU without the dot product of bytes scans in plain Go. Speed not measured.
func native(kernels string) scanner {
	if kernels == "neondot" {
		return neonDot
	}
	return nil
}

func neonDot(out []float32, values []int8, scales []float32, q *query, t *totals) {
	check(out, values, scales, q)
	t.clearTop()
	n := len(out) &^ (lanes - 1)
	var products [lanes]int32
	for i := 0; i < n; i += lanes {
		products4(&products, &values[i*q.dimensions], q.dimensions, &q.planes[0])
		for j, p := range products {
			out[i+j] = q.score(p, scales[i+j])
			t.add(j, out[i+j])
		}
	}
	plainFrom(n, out, values, scales, q, t)
}

// products4 multiplies four vectors by a query.
//
//go:noescape
func products4(products *[lanes]int32, values *int8, dimensions int, planes *int8)
