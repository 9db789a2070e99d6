package rawjson

import "slices"

// scalarName is the name of the parser without a kernel.
const scalarName = "scalar"

// fastest is the default kernel of a Doc; nil is the scalar parser.
var fastest = func() *kernel {
	if len(available) == 0 {
		return nil
	}
	return available[0]
}()

// Kernels names the ways to parse that this machine has, the one that is used
// first. The last one, "scalar", is everywhere.
func Kernels() []string {
	var names []string
	for _, k := range available {
		names = append(names, k.name)
	}
	return append(names, scalarName)
}

// Use makes d parse with the named kernel from now on, for measurements and
// tests: the results are the same. False if this machine has no such kernel.
func (d *Doc) Use(name string) bool {
	i := slices.Index(Kernels(), name)
	if i < 0 {
		return false
	}
	d.pinned, d.kernel = true, nil
	if name != scalarName {
		d.kernel = available[i]
	}
	return true
}

// pick returns the kernel that d parses with.
func (d *Doc) pick() *kernel {
	if d.pinned {
		return d.kernel
	}
	return fastest
}
