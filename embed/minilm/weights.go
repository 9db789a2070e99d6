package minilm

import "github.com/oriel-context/oriel/internal/vector/mat"

// The encoder's dimensions.
const (
	layers    = 6
	width     = 384
	heads     = 12
	inner     = 1536
	positions = 256 // the longest text in pieces, as in sentence-transformers

	headWidth = width / heads
)

// Dimensions is the length of a vector.
const Dimensions = width

// weights are the contents of a file. The int8 slices refer to the file.
type weights struct {
	float      bool // matrices and pieces are float32
	notice     string
	vocabulary []byte

	pieces     []int8    // [pieces][width]
	pieceScale []float32 // by piece
	piecesF32  []float32 // instead of both, if float is set
	positions  []float32 // [positions][width]
	norm       norm
	layers     [layers]layer
}

type layer struct {
	qkv, out      dense
	attentionNorm norm
	up, down      dense
	outputNorm    norm
}

type norm struct{ gamma, beta []float32 }

// dense is a linear layer.
type dense struct {
	mat.Matrix           // Weights, Scale and Sum are nil in a float32 model
	by         []float32 // factors of the input channels before they are quantised
	f32        []float32 // [K][N], in a float32 model
}

// dense lists a layer's linear layers in the order of the file.
func (l *layer) dense() [4]*dense { return [4]*dense{&l.qkv, &l.out, &l.up, &l.down} }

// shapes are the K and N of a layer's linear layers, in the order of the file.
var shapes = [4][2]int{{width, 3 * width}, {width, width}, {width, inner}, {inner, width}}
