package minilm

import (
	"math"

	"github.com/oriel-context/oriel/internal/vector/mat"
)

const (
	// maxRows is how many pieces are computed together: enough to read each
	// weight seldom, few enough for the second-level cache.
	maxRows = positions
	// blockRows is how many of them pass through the wide inner layer at once.
	blockRows = 48
	// spareRows is how many rows beyond the last piece a kernel may read or
	// write, because it works in tiles and lanes.
	spareRows = mat.Lane
)

// scratch is the working memory of one thread.
type scratch struct {
	x      []float32 // [rows][width]: the pieces' states
	qkv    []float32 // [rows][3·width]: query, key, value
	mixed  []float32 // [rows][width]: the result of attention
	hidden []float32 // [blockRows][inner]
	keys   []float32 // [headWidth][rows]: one head's keys, transposed
	scores []float32 // [rows][rows]: one head's
	over   []float32 // [rows]: one over the sums of scores
	q      []uint8   // [rows][width] or [blockRows][inner], quantised
	row    []mat.Row
}

func newScratch() *scratch {
	const rows = maxRows + spareRows
	return &scratch{
		x:      make([]float32, rows*width),
		qkv:    make([]float32, rows*3*width),
		mixed:  make([]float32, rows*width),
		hidden: make([]float32, blockRows*inner),
		keys:   make([]float32, headWidth*rows),
		scores: make([]float32, rows*rows),
		over:   make([]float32, rows),
		q:      make([]uint8, max(rows*width, blockRows*inner)),
		row:    make([]mat.Row, rows),
	}
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// forward computes the vectors of texts that have at most maxRows pieces
// together. Rows beyond the last piece hold arbitrary values, which are
// computed along and never used.
func (m *Model) forward(s *scratch, texts []span, ids []int32, dst []float32) {
	rows := 0
	for _, t := range texts {
		m.look(s.x[rows*width:], ids[t.start:t.end])
		rows += t.end - t.start
	}
	padded := roundUp(rows, mat.Tile)
	for i := range m.weights.layers {
		l := &m.weights.layers[i]
		m.apply(s, &l.qkv, s.qkv, s.x, padded, false)
		start := 0
		for _, t := range texts {
			n := t.end - t.start
			m.attend(s, start, n)
			start += n
		}
		m.apply(s, &l.out, s.x, s.mixed, padded, true)
		m.normalise(s.x[:padded*width], &l.attentionNorm)
		for at := 0; at < padded; at += blockRows {
			block := min(blockRows, padded-at)
			x := s.x[at*width : (at+block)*width]
			m.apply(s, &l.up, s.hidden, x, block, false)
			m.kernels.GELU(s.hidden[:block*inner])
			m.apply(s, &l.down, x, s.hidden, block, true)
			m.normalise(x, &l.outputNorm)
		}
	}
	start := 0
	for _, t := range texts {
		n := t.end - t.start
		pool(dst[t.text*width:(t.text+1)*width], s.x[start*width:(start+n)*width])
		start += n
	}
}

// look sets the rows of x to the embeddings of pieces and their positions.
func (m *Model) look(x []float32, ids []int32) {
	w := m.weights
	for i, id := range ids {
		row, place := x[i*width:(i+1)*width], w.positions[i*width:(i+1)*width]
		if w.float {
			for j, v := range w.piecesF32[int(id)*width:][:width] {
				row[j] = v + place[j]
			}
		} else {
			scale := w.pieceScale[id]
			for j, v := range w.pieces[int(id)*width:][:width] {
				row[j] = float32(float32(v)*scale) + place[j]
			}
		}
	}
	m.normalise(x[:len(ids)*width], &w.norm)
}

func (m *Model) normalise(x []float32, n *norm) {
	for i := 0; i < len(x); i += width {
		m.kernels.Norm(x[i:i+width], n.gamma, n.beta)
	}
}

// apply sets y to d applied to x, or adds it, for a number of rows.
func (m *Model) apply(s *scratch, d *dense, y, x []float32, rows int, add bool) {
	x = x[:rows*d.K]
	if m.probe != nil {
		m.probe(d, x)
	}
	if m.weights.float {
		m.applyFloat(s, d, y, x, rows, add)
		return
	}
	for i := range rows {
		s.row[i] = m.kernels.Quantise(s.q[i*d.K:(i+1)*d.K], x[i*d.K:(i+1)*d.K], d.by)
	}
	m.kernels.Linear(y, d.N, s.q, s.row[:rows], &d.Matrix, add)
}

// applyFloat is apply without quantisation. It defines what apply computes.
func (m *Model) applyFloat(s *scratch, d *dense, y, x []float32, rows int, add bool) {
	product := y
	if add {
		product = s.qkv // free by then, and wide enough
	}
	m.kernels.Mul(product, d.N, x, d.K, d.f32, d.N, rows, d.N, d.K, nil)
	for i := range rows {
		to := y[i*d.N : (i+1)*d.N]
		for j, v := range product[i*d.N : (i+1)*d.N] {
			v += d.Bias[j]
			if add {
				v += to[j]
			}
			to[j] = v
		}
	}
}

// attend computes the attention of one text, whose n pieces begin at row
// start. Rows up to the next tile are computed along; they belong to the next
// text, which overwrites them.
func (m *Model) attend(s *scratch, start, n int) {
	// The square root of the head's width, as in training.
	scale := float32(1 / math.Sqrt(headWidth))
	rows, columns := roundUp(n, mat.Tile), roundUp(n, mat.Lane)
	for h := range heads {
		query := s.qkv[start*3*width+h*headWidth:]
		key, value := query[width:], query[2*width:]
		m.kernels.Transpose(s.keys, columns, key, 3*width, columns, headWidth)
		m.kernels.Mul(s.scores, columns, query, 3*width, s.keys, columns, rows, columns, headWidth, nil)
		for i := range rows {
			s.over[i] = m.kernels.Softmax(s.scores[i*columns:(i+1)*columns], n, scale)
		}
		m.kernels.Mul(s.mixed[start*width+h*headWidth:], width, s.scores, columns, value, 3*width, rows, headWidth, n,
			s.over)
	}
}

// pool sets v to the mean of the rows of x, normalised to length 1.
func pool(v, x []float32) {
	clear(v)
	for i := 0; i < len(x); i += width {
		for j, u := range x[i : i+width] {
			v[j] += u
		}
	}
	var squares float64
	for _, u := range v {
		squares += float64(u) * float64(u)
	}
	if squares == 0 {
		return
	}
	inverse := 1 / math.Sqrt(squares)
	for j, u := range v {
		v[j] = float32(float64(u) * inverse)
	}
}
