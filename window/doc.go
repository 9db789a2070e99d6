// Package window decides what of a conversation a model is shown.
package window
