//go:build oriel_nomodel

package oriel

// hasModel: the weights are no part of the program.
const hasModel = false
