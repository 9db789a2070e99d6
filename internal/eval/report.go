package eval

import (
	"cmp"
	"slices"
	"time"
)

// sessionTop is how many sessions count for the recall of sessions.
const sessionTop = 10

// Report is the result of a run. Recall is a percentage: the mean over
// questions of the share of their evidence that is in the context.
type Report struct {
	Format        string `json:"format"`
	Conversations int    `json:"conversations"`
	// Questions counts the questions with evidence in the main figure, Aside
	// those that are listed beside it, Without those that have no evidence.
	// Unknown counts pieces of evidence that no conversation contains.
	Questions int       `json:"questions"`
	Aside     int       `json:"aside"`
	Without   int       `json:"without_evidence"`
	Unknown   int       `json:"unknown_evidence,omitempty"`
	Rows      []Row     `json:"rows"`
	Sessions  []Session `json:"sessions"`
	Latency   []Latency `json:"latency"`

	policies []string
	rows     map[rowKey]*Row
	hits     map[string]*Session
	times    map[string][]time.Duration
}

// Row is the result of a policy, budget and kind of question.
type Row struct {
	Policy string `json:"policy"`
	Budget int    `json:"budget"`
	// Kind is "all" for the main figure.
	Kind      string `json:"kind"`
	Questions int    `json:"questions"`
	// Recall counts messages of which at least a passage is in the context,
	// Whole those that are there entirely.
	Recall float64 `json:"recall"`
	Whole  float64 `json:"whole"`
	Tokens float64 `json:"tokens"` // mean
}

// Session is the share of sessions with evidence that are among the ten best.
type Session struct {
	Policy    string  `json:"policy"`
	Questions int     `json:"questions"`
	Recall    float64 `json:"recall_at_10"`
}

// Latency is the time per question, without embedding the conversation.
type Latency struct {
	Policy string  `json:"policy"`
	P50    float64 `json:"p50_ms"`
	P95    float64 `json:"p95_ms"`
}

type rowKey struct {
	policy string
	budget int
	kind   string
}

func newReport(set *Set, o Options) *Report {
	r := &Report{
		Format: set.Format, Conversations: len(set.Conversations), Unknown: set.Unknown, policies: o.Policies,
		rows: map[rowKey]*Row{}, hits: map[string]*Session{}, times: map[string][]time.Duration{},
	}
	for _, c := range set.Conversations {
		for _, q := range c.Questions {
			switch {
			case len(q.Evidence) == 0:
				r.Without++
			case q.Aside:
				r.Aside++
			default:
				r.Questions++
			}
		}
	}
	return r
}

// add counts a question.
func (r *Report) add(q *Question, d *Detail) {
	if len(q.Evidence) == 0 {
		return
	}
	part, whole := share(q.Evidence, d.IncludedPart), share(q.Evidence, d.Included)
	if q.File != "" {
		r.reread(q, d)
		return
	}
	r.count(q.Kind, d, part, whole)
	if !q.Aside {
		r.count("all", d, part, whole)
	}
}

// reread counts a file that is read again in three ways: by its path, by what
// it showed before, and by the lines that it shows now. The main figure counts
// the first two.
func (r *Report) reread(q *Question, d *Detail) {
	path, content := 0., 0.
	if d.Path {
		path = 1
	}
	if share(q.Evidence, d.IncludedPart) > 0 {
		content = 1
	}
	r.count(q.Kind+": path", d, path, path)
	r.count(q.Kind+": content", d, content, content)
	r.count(q.Kind+": lines", d, d.Lines, d.Lines)
	if !q.Aside {
		either := max(path, content)
		r.count("all", d, either, either)
	}
}

// count adds a question to the row of a kind.
func (r *Report) count(kind string, d *Detail, part, whole float64) {
	key := rowKey{d.Policy, d.Budget, kind}
	row := r.rows[key]
	if row == nil {
		row = &Row{Policy: d.Policy, Budget: d.Budget, Kind: kind}
		r.rows[key] = row
	}
	row.Questions++
	row.Recall += part
	row.Whole += whole
	row.Tokens += float64(d.Tokens)
}

// share returns the share of want that have contains.
func share(want, have []string) float64 {
	n := 0
	for _, w := range want {
		if slices.Contains(have, w) {
			n++
		}
	}
	return float64(n) / float64(len(want))
}

// sessions counts how many of the sessions with evidence are among the best.
func (r *Report) sessions(policy string, q *Question, s *subject, a *answer) {
	if len(q.Evidence) == 0 || q.Aside || policy == "recent" {
		return
	}
	found, wanted := map[int]bool{}, map[int]bool{}
	for k, blocks := range a.ranking.Sessions(len(s.messages)) {
		for _, b := range blocks {
			if slices.Contains(q.Evidence, s.message(b).Ref) {
				wanted[k] = true
				if k < sessionTop {
					found[k] = true
				}
			}
		}
	}
	hit := r.hits[policy]
	if hit == nil {
		hit = &Session{Policy: policy}
		r.hits[policy] = hit
	}
	hit.Questions++
	hit.Recall += float64(len(found)) / float64(len(wanted))
}

func (r *Report) took(policy string, d time.Duration) { r.times[policy] = append(r.times[policy], d) }

// finish turns sums into means and sorts the rows.
func (r *Report) finish() {
	for _, row := range r.rows {
		n := float64(row.Questions)
		row.Recall, row.Whole, row.Tokens = 100*row.Recall/n, 100*row.Whole/n, row.Tokens/n
		r.Rows = append(r.Rows, *row)
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(r.order(a.Policy)-r.order(b.Policy), a.Budget-b.Budget, allFirst(a.Kind, b.Kind))
	})
	for _, p := range r.policies {
		if hit := r.hits[p]; hit != nil {
			hit.Recall = 100 * hit.Recall / float64(hit.Questions)
			r.Sessions = append(r.Sessions, *hit)
		}
		if times := r.times[p]; len(times) > 0 {
			slices.Sort(times)
			at := func(q int) float64 { return float64(times[(len(times)-1)*q/100].Microseconds()) / 1000 }
			r.Latency = append(r.Latency, Latency{p, at(50), at(95)})
		}
	}
}

func (r *Report) order(policy string) int { return slices.Index(r.policies, policy) }

func allFirst(a, b string) int {
	if (a == "all") != (b == "all") {
		if a == "all" {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}
