package embed

import "context"

// Model turns texts into vectors. Implementations are safe for concurrent use.
type Model interface {
	// Name identifies the model and every choice that changes its vectors
	// (version, quantisation, dimensions); vectors of different names are never
	// compared.
	Name() string
	// Embed returns one L2-normalised vector per text, in order, all of the same
	// dimension. The caller owns the vectors. If ctx ends, Embed returns its error;
	// with an error there are no vectors. A text without content has a meaningless
	// vector.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
