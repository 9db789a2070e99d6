package embed

import "context"

// Model turns texts into vectors. Implementations are safe for concurrent use.
type Model interface {
	// Name identifies the model and every choice that changes its vectors
	// (version, quantisation, dimensions); vectors of different names are never
	// compared.
	Name() string
	// Embed returns one L2-normalised vector for each text, in order. All have the
	// same length. The vectors are the caller's to change. It stops early with
	// ctx's error, and an error comes without vectors. A text without content has a
	// vector too, which means nothing.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
