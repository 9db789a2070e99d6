package minilm

import (
	"bytes"
	"fmt"
	"slices"
)

// Float32File makes a float32 weight file from a model's tensors. tensor
// returns a tensor by its name in BERT's checkpoints, linear layers as
// [output][input].
func Float32File(tensor func(name string) ([]float32, error), vocabulary []byte, notice string) ([]byte, error) {
	w := &weights{float: true, notice: notice, vocabulary: vocabulary}
	t := &taker{tensor: tensor}
	pieces := bytes.Count(vocabulary, []byte("\n"))
	w.piecesF32 = t.take("embeddings.word_embeddings.weight", pieces*width)
	w.positions = slices.Clone(t.take("embeddings.position_embeddings.weight", 2*positions*width))
	kind := t.take("embeddings.token_type_embeddings.weight", 2*width)
	w.norm = t.norm("embeddings.LayerNorm")
	for i := range w.layers {
		l, at := &w.layers[i], fmt.Sprintf("encoder.layer.%d.", i)
		l.qkv = t.dense(width, width, at+"attention.self.query", at+"attention.self.key", at+"attention.self.value")
		l.out = t.dense(width, width, at+"attention.output.dense")
		l.attentionNorm = t.norm(at + "attention.output.LayerNorm")
		l.up = t.dense(width, inner, at+"intermediate.dense")
		l.down = t.dense(inner, width, at+"output.dense")
		l.outputNorm = t.norm(at + "output.LayerNorm")
	}
	if t.err != nil {
		return nil, t.err
	}
	w.positions = w.positions[:positions*width]
	for i := range w.positions {
		w.positions[i] += kind[i%width]
	}
	return w.file(), nil
}

// taker fetches tensors and keeps the first error.
type taker struct {
	tensor func(name string) ([]float32, error)
	err    error
}

// take returns a tensor of n values, or n zeros after an error.
func (t *taker) take(name string, n int) []float32 {
	v, err := t.tensor(name)
	if err == nil && len(v) != n {
		err = fmt.Errorf("tensor %s has %d values, %d expected", name, len(v), n)
	}
	if err != nil {
		if t.err == nil {
			t.err = err
		}
		return make([]float32, n)
	}
	return v
}

func (t *taker) norm(name string) norm {
	return norm{gamma: t.take(name+".weight", width), beta: t.take(name+".bias", width)}
}

// dense joins linear layers of k inputs and n outputs side by side.
func (t *taker) dense(k, n int, names ...string) dense {
	var d dense
	d.K, d.N = k, n*len(names)
	d.f32 = make([]float32, d.K*d.N)
	for i, name := range names {
		d.Bias = append(d.Bias, t.take(name+".bias", n)...)
		for j, v := range t.take(name+".weight", n*k) {
			output, input := j/k, j%k
			d.f32[input*d.N+i*n+output] = v
		}
	}
	return d
}
