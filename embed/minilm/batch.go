package minilm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// slabTexts is how many texts are tokenized and sorted by length at a time. It
// bounds the memory of a call beyond its result.
const slabTexts = 512

// leastRows is the least work that is worth a second thread.
const leastRows = 32

// span is a text's pieces within a job's ids.
type span struct{ text, start, end int }

// job is a slab of texts that the caller and the parked workers share.
type job struct {
	ctx    context.Context
	ids    []int32
	spans  []span
	chunks []int // where in spans each chunk ends
	dst    []float32

	next    atomic.Int64 // the next chunk to take
	helpers sync.WaitGroup
}

// EmbedInto writes the vector of each text to dst, one after the other. After
// the first call it allocates nothing.
func (m *Model) EmbedInto(ctx context.Context, dst []float32, texts []string) error {
	if len(dst) != len(texts)*width {
		return fmt.Errorf("minilm: dst has room for %d values, %d texts need %d", len(dst), len(texts),
			len(texts)*width)
	}
	var j *job
	select {
	case j = <-m.idle:
	default:
		j = new(job)
	}
	defer func() {
		j.ctx, j.dst = nil, nil
		select {
		case m.idle <- j:
		default:
		}
	}()
	for len(texts) > 0 {
		n := min(len(texts), slabTexts)
		if err := m.slab(ctx, j, dst[:n*width], texts[:n]); err != nil {
			return err
		}
		dst, texts = dst[n*width:], texts[n:]
	}
	return nil
}

func (m *Model) slab(ctx context.Context, j *job, dst []float32, texts []string) error {
	j.ctx, j.dst = ctx, dst
	m.cut(j, texts)
	j.next.Store(0)
	// Only a worker that is parked at this moment takes a job: the caller does
	// not wait for one that is busy with another call.
	for range min(m.threads, len(j.chunks)) - 1 {
		j.helpers.Add(1)
		select {
		case m.jobs <- j:
		default:
			j.helpers.Done()
		}
	}
	err := m.help(j)
	j.helpers.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// cut tokenizes texts and groups texts of similar length into chunks.
func (m *Model) cut(j *job, texts []string) {
	j.ids, j.spans, j.chunks = j.ids[:0], j.spans[:0], j.chunks[:0]
	for i, text := range texts {
		start := len(j.ids)
		j.ids = m.tokenizer.Encode(j.ids, text, positions)
		j.spans = append(j.spans, span{text: i, start: start, end: len(j.ids)})
	}
	slices.SortFunc(j.spans, func(a, b span) int { return cmp.Compare(b.end-b.start, a.end-a.start) })
	// Give every thread a chunk, unless the chunks would be tiny.
	most := min(maxRows, max(leastRows, (len(j.ids)+m.threads-1)/m.threads))
	rows := 0
	for i, s := range j.spans {
		if n := s.end - s.start; rows > 0 && rows+n > most {
			j.chunks = append(j.chunks, i)
			rows = n
		} else {
			rows += n
		}
	}
	j.chunks = append(j.chunks, len(j.spans))
}

// work is the loop of a parked worker, which helps with any batch that is offered.
func (m *Model) work() {
	for {
		select {
		case j := <-m.jobs:
			// The caller reports why a batch ended early; a helper only stops.
			_ = m.help(j)
			j.helpers.Done()
		case <-m.done:
			return
		}
	}
}

// help computes chunks of j until none is left. It returns the scratch between
// two of them, so that a query never waits for the end of a batch.
func (m *Model) help(j *job) error {
	for {
		i := int(j.next.Add(1)) - 1
		if i >= len(j.chunks) {
			return nil
		}
		if err := m.chunk(j, i); err != nil {
			return err
		}
	}
}

func (m *Model) chunk(j *job, i int) error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	var s *scratch
	select {
	case s = <-m.free:
	case <-j.ctx.Done():
		return j.ctx.Err()
	}
	if s == nil {
		s = newScratch()
	}
	defer func() { m.free <- s }()
	first := 0
	if i > 0 {
		first = j.chunks[i-1]
	}
	m.forward(s, j.spans[first:j.chunks[i]], j.ids, j.dst)
	return nil
}
