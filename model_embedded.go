//go:build !oriel_nomodel

package oriel

// hasModel: the weights are part of the program.
const hasModel = true
