package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
)

const (
	// sampled is of how many passages the frequencies of words are taken.
	sampled = 2000
	// maxMatches is about how many passages with any word of a query are scored.
	maxMatches = 20_000
	// manySpans is from how many on the index of trunks is of no use.
	manySpans = 10_000
	// meanWords is the usual number of different words of a passage.
	meanWords = 40
)

// FindPassages implements timeline.Passages.
func (s *Store) FindPassages(ctx context.Context, tenant, kind string, q timeline.PassageQuery,
	visit func(*timeline.Entry) error) error {
	st, err := s.passageState(ctx)
	if err != nil || !st.tables || len(q.Spans) == 0 {
		return cmp.Or(err, s.begin(ctx))
	}
	f := &finding{kind: st.stored(kind), q: &q, spans: map[int64]timeline.Span{}}
	for _, span := range q.Spans {
		f.spans[span.Trunk] = span
		f.trunks = append(f.trunks, span.Trunk)
	}
	// By meaning, and how many passages have each word.
	if err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		if v := vectorText(q.Vector); v != nil && st.vectors {
			f.byVector(b, id, *v)
		}
		f.countWords(b, id)
	}); err != nil {
		return err
	}
	if chosen, weights := f.weigh(); len(chosen) > 0 {
		if err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) { f.byWords(b, id, chosen, weights) }); err != nil {
			return err
		}
	}
	v := visitor{s: s, ctx: ctx, visit: visit}
	err = s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		for _, part := range f.around() {
			v.queue(b, id, part, nil)
		}
	})
	if v.failed != nil {
		return v.failed
	}
	if errors.Is(err, timeline.ErrDamaged) { // most likely it was deleted between the two
		err = fmt.Errorf("%w: %w", timeline.ErrNoPlace, err)
	}
	return err
}

// finding is a search for passages.
type finding struct {
	kind   string
	q      *timeline.PassageQuery
	spans  map[int64]timeline.Span
	trunks []int64 // to search

	words []string // as queries
	// has is how many passages of a sample have each word, and of is the size of the sample.
	has         []int64
	of          int64
	all         int64            // about as many passages there are
	meant, said []timeline.Place // found by meaning and by words, the best first
}

// within returns the condition that passages are of the history that is searched. Many trunks
// are looked up in a table of hashes.
func (f *finding) within() string {
	if len(f.trunks) > manySpans {
		return "tenant = $1 AND kind = $2 AND trunk IN (SELECT unnest($3::bigint[]))"
	}
	return "tenant = $1 AND kind = $2 AND trunk = ANY ($3::bigint[])"
}

// readPlaces reads places. A message is found once.
func (f *finding) readPlaces(rows pgx.Rows, found *[]timeline.Place) error {
	var p timeline.Place
	seen := map[timeline.Place]bool{}
	_, err := pgx.ForEachRow(rows, []any{&p.Trunk, &p.Depth}, func() error {
		if span, ok := f.spans[p.Trunk]; ok && p.Depth >= span.First && p.Depth <= span.Last && !seen[p] {
			seen[p] = true
			*found = append(*found, p)
		}
		return nil
	})
	return err
}

func (f *finding) byVector(b *pgx.Batch, tenant int64, vector string) {
	// pgvector looks at more of its index until enough passages are within the spans.
	b.Queue("SELECT set_config('hnsw.ef_search', '400', true), set_config('hnsw.iterative_scan', 'relaxed_order', true)")
	b.Queue("SELECT trunk, depth FROM passage WHERE "+f.within()+" ORDER BY vector <=> $4::text::halfvec LIMIT $5",
		tenant, f.kind, f.trunks, vector, 3*f.q.Messages).Query(func(rows pgx.Rows) error {
		f.meant = nil
		return f.readPlaces(rows, &f.meant)
	})
}

// countWords counts the passages of a sample that have each word. To count all of them would
// take longer than the search.
func (f *finding) countWords(b *pgx.Batch, tenant int64) {
	for _, w := range words(f.q.Words) {
		if w = lexeme(w); !slices.Contains(f.words, w) {
			f.words = append(f.words, w)
		}
	}
	f.has = make([]int64, len(f.words))
	b.Queue("SELECT coalesce(sum(depth), 0)::bigint FROM passage_to WHERE tenant = $1 AND kind = $2", tenant,
		f.kind).QueryRow(func(row pgx.Row) error { return row.Scan(&f.all) })
	b.Queue(`WITH sample AS MATERIALIZED (SELECT words FROM passage WHERE tenant = $1 AND kind = $2 LIMIT $3)
		SELECT w.i, (SELECT count(*) FROM sample s), (SELECT count(*) FROM sample s WHERE s.words @@ w.word) FROM unnest($4::text[]::tsquery[]) WITH ORDINALITY AS w (word, i)`,
		tenant, f.kind, sampled, f.words).Query(func(rows pgx.Rows) error {
		var i, n int64
		_, err := pgx.ForEachRow(rows, []any{&i, &f.of, &n}, func() error {
			f.has[i-1] = n
			return nil
		})
		return err
	})
}

// lexeme returns a term as a query for it.
func lexeme(term string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(term) + "'"
}

// weigh returns the rarest words, as many as have few enough passages together, with the
// weights of BM25.
func (f *finding) weigh() (chosen []string, weights []float64) {
	order := make([]int, len(f.words))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.has[a], f.has[b]) })
	sum := 0.0
	for _, i := range order {
		share := (float64(f.has[i]) + .5) / (float64(f.of) + 1)
		if sum += share * float64(f.all); sum > maxMatches && len(chosen) > 0 {
			break
		}
		chosen, weights = append(chosen, f.words[i]), append(weights, math.Log(1+1/share))
	}
	return chosen, weights
}

// byWords finds the passages that have the most of the rare words. Long ones count less.
func (f *finding) byWords(b *pgx.Batch, tenant int64, chosen []string, weights []float64) {
	b.Queue(`SELECT p.trunk, p.depth FROM passage p
		CROSS JOIN LATERAL (SELECT sum(w.weight) AS sum FROM unnest($5::text[]::tsquery[], $6::float8[]) AS w (word, weight) WHERE p.words @@ w.word) AS score
		WHERE p.`+f.within()+` AND p.words @@ $4::tsquery
		ORDER BY score.sum / (1.3 + 0.9 * length(p.words) / $7) DESC, p.trunk DESC, p.depth DESC LIMIT $8`,
		tenant, f.kind, f.trunks, strings.Join(chosen, "|"), chosen, weights, float64(meanWords),
		3*f.q.Messages).Query(func(rows pgx.Rows) error {
		f.said = nil
		return f.readPlaces(rows, &f.said)
	})
}

// around returns the parts of trunks with the best messages and those beside them, in order.
// Both lists count alike, by their ranks.
func (f *finding) around() (parts []span) {
	const rank = 60
	scores := map[timeline.Place]float64{}
	for _, list := range [][]timeline.Place{f.meant, f.said} {
		for i, p := range list {
			scores[p] += 1 / float64(rank+i)
		}
	}
	best := make([]timeline.Place, 0, len(scores))
	for p := range scores {
		best = append(best, p)
	}
	byPlace := func(a, b timeline.Place) int {
		return cmp.Or(cmp.Compare(a.Trunk, b.Trunk), cmp.Compare(a.Depth, b.Depth))
	}
	slices.SortFunc(best,
		func(a, b timeline.Place) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), byPlace(a, b)) })
	best = best[:min(len(best), f.q.Messages)]
	slices.SortFunc(best, byPlace)
	for _, p := range best {
		whole := f.spans[p.Trunk]
		part := span{p.Trunk, max(whole.First, p.Depth-int64(f.q.Around)), min(whole.Last, p.Depth+int64(f.q.Around))}
		if n := len(parts) - 1; n >= 0 && parts[n].trunk == part.trunk && parts[n].last+1 >= part.first {
			parts[n].last = part.last
			continue
		}
		parts = append(parts, part)
	}
	return parts
}
