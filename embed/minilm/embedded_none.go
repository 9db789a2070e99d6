//go:build oriel_nomodel

package minilm

import "errors"

// Open returns an error: the program was built without weights.
func Open(Options) (*Model, error) {
	return nil, errors.New("minilm: this program was built with the tag oriel_nomodel, which leaves the model's weights out; build it without the tag, or use a remote embedding server")
}
