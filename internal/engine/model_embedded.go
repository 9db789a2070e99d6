//go:build !oriel_nomodel

package engine

// hasModel: the weights are part of the program.
const hasModel = true
