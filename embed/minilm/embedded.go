//go:build !oriel_nomodel

package minilm

import _ "embed"

//go:embed all-MiniLM-L6-v2.oriel
var embedded string

// Open returns a model of the weights in the program.
func Open(opts Options) (*Model, error) { return read(embedded, opts) }
