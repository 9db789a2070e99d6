//go:build oriel_nomodel

package engine

// hasModel: the weights are no part of the program.
const hasModel = false
