package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/report/replay/recording"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

// ErrPolicy: a policy is not known.
var ErrPolicy = errors.New("unknown policy")

// Options are the settings of Run. The zero value compares the profiles full, balanced and
// thrifty with append.
type Options struct {
	// Models is the model table. Default: the built-in one.
	Models *token.Models
	// Profiles are the profiles that policies may name. Default: the built-in ones.
	Profiles []window.Profile
	// Policies are what is compared. append is the first, whether it is named or not.
	Policies []Policy
	// NoRecall brings nothing back, which is faster.
	NoRecall bool
	// Format is the only format that is read. Default: each file's content decides.
	Format importer.Format
	// Since leaves out files that were not written since.
	Since time.Time
	// Rules, if set, returns the rules of a model in place of those of the table.
	Rules func(m token.Model, table Rules) Rules
	// Points keeps each call in the outcomes.
	Points bool
	// Each, if set, is called after each call. Calls of different files are concurrent.
	Each func(*Call)
	// Session, if set, is called after each session, one at a time.
	Session func(*Session)
	// Drop leaves the sessions out of the report, for callers that take them by Session.
	Drop bool
	// Progress, if set, is called with the bytes read so far and in total.
	Progress func(done, total int64)
	// Workers is how many files are read at a time. Default: one a processor, at most 4.
	Workers int

	policies []*policy
	table    *window.ProfileTable
	report   func(*Session)
}

// policy is a Policy and how it is run.
type policy struct {
	Policy
	profile string
	shown   int // the window to show
}

// budget returns the most tokens that a call asks for; 0 if the window is that of a profile: a
// wish, which grows for what must not be cut.
func (p *policy) budget() int {
	if p.profile != p.Name {
		return 0
	}
	return p.Window
}

// Append is the policy that sends everything as it came; off is the profile that does.
const (
	Append = "append"
	off    = "off"
)

// Defaults are the policies of the zero Options.
func Defaults() []Policy { return []Policy{{Name: "full"}, {Name: "balanced"}, {Name: "thrifty"}} }

// Names returns the names that a Policy may have.
func Names(profiles []window.Profile) []string {
	names := []string{Append}
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	for _, n := range window.Profiles() {
		if p, err := window.LookupProfile(n); err == nil && !p.Off {
			names = append(names, n)
		}
	}
	return append(names, window.Policies()...)
}

// check prepares the policies.
func (o *Options) check() error {
	if o.Models == nil {
		o.Models = token.Builtin()
	}
	if o.Workers <= 0 {
		o.Workers = min(4, runtime.GOMAXPROCS(0))
	}
	if len(o.Policies) == 0 {
		o.Policies = Defaults()
	}
	o.policies = []*policy{{Policy: Policy{Name: Append}, profile: off}}
	own := slices.Clone(o.Profiles)
	for _, p := range o.Policies {
		one := &policy{Policy: p, profile: p.Name}
		switch {
		case p.Name == Append && p.Window == 0:
			continue
		case p.Name == Append:
			one.profile, one.Policy.NoRecall = off, true
		case slices.Contains(window.Policies(), p.Name):
			one.profile = fmt.Sprintf("replay-%s-%d", p.Name, len(o.policies))
			profile := window.Profile{Name: one.profile, Policy: p.Name, Budget: p.Window, Low: p.Low}
			own = append(own, profile)
		case !slices.Contains(Names(o.Profiles), p.Name):
			return fmt.Errorf("%w %.40q: use %s", ErrPolicy, p.Name, strings.Join(Names(o.Profiles), ", "))
		}
		o.policies = append(o.policies, one)
	}
	var err error
	if o.table, err = window.NewProfiles(own...); err != nil {
		return err
	}
	for _, p := range o.policies {
		if profile, err := o.table.Lookup(p.profile); err == nil && p.Window == 0 {
			p.shown = profile.Budget
		} else {
			p.shown = p.Window
		}
	}
	return nil
}

// Report is the result of Run.
type Report struct {
	Files, Skipped int
	Bytes          int64
	Sessions       []*Session
	// Total are the outcomes of all sessions with a price, in the order of the policies;
	// append first. Unpriced are those of the others.
	Total, Unpriced []*Outcome
	// Priced counts the sessions in Total.
	Priced int
	// Models are what all calls used by model, the most expensive first.
	Models []ModelUse
	Paid   Paid
	// Calls, Histories and Active are those of all sessions, Began and Ended the first and
	// last call.
	Calls, Histories int
	Active           time.Duration
	Began, Ended     time.Time
	Calibration      Calibration
	// Broken counts entries and calls that could not be read; Problems holds the first 20.
	Broken   int
	Problems []importer.Problem
	// Took is the time that the replay took.
	Took time.Duration
}

const maxProblems = 20

// Run replays the sessions of files and folders. Broken entries are skipped and reported.
func Run(ctx context.Context, paths []string, o Options) (*Report, error) {
	began := time.Now()
	if err := o.check(); err != nil {
		return nil, err
	}
	files, found, err := importer.Files(ctx, paths, importer.Options{Format: o.Format})
	if err != nil {
		return nil, err
	}
	return o.run(ctx, files, found, began)
}

// RunFiles is Run for files that importer.Files found.
func RunFiles(ctx context.Context, files []importer.File, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return o.run(ctx, files, &importer.Report{}, time.Now())
}

func (o *Options) run(ctx context.Context, files []importer.File, found *importer.Report,
	began time.Time) (*Report, error) {
	r := &Report{Skipped: len(found.Skipped), Broken: found.Broken, Problems: found.Problems}
	files = slices.DeleteFunc(slices.Clone(files), func(f importer.File) bool { return f.Modified.Before(o.Since) })
	for i := range files {
		r.Bytes += files[i].Size
	}
	r.Files = len(files)
	for _, p := range o.policies {
		r.Total = append(r.Total, &Outcome{Policy: p.Name, Window: p.shown, CostRatio: 1})
		r.Unpriced = append(r.Unpriced, &Outcome{Policy: p.Name, Window: p.shown, CostRatio: 1})
	}
	var mu sync.Mutex
	sessions := make([][]*Session, len(files))
	broken := func(p importer.Problem) {
		mu.Lock()
		defer mu.Unlock()
		r.Broken++
		if len(r.Problems) < maxProblems {
			r.Problems = append(r.Problems, p)
		}
	}
	var done atomic.Int64
	progress := func(n int64) {
		if o.Progress != nil {
			o.Progress(done.Add(n), r.Bytes)
		}
	}
	next := make(chan int)
	var workers sync.WaitGroup
	errs := make([]error, max(1, min(o.Workers, len(files))))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for w := range errs {
		workers.Go(func() {
			cache := token.NewCache(0)
			for i := range next {
				if errs[w] != nil {
					continue
				}
				one := *o
				one.report = func(s *Session) {
					mu.Lock()
					defer mu.Unlock()
					r.add(s)
					if o.Session != nil {
						o.Session(s)
					}
					if !o.Drop {
						sessions[i] = append(sessions[i], s)
					}
				}
				if errs[w] = one.file(ctx, &files[i], cache, broken, progress); errs[w] != nil {
					cancel()
				}
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	workers.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return r, err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return r, err
	}
	r.Sessions = slices.Concat(sessions...)
	r.finish()
	r.Took = time.Since(began)
	return r, nil
}

// file replays the sessions of a file.
func (o *Options) file(ctx context.Context, f *importer.File, cache *token.Cache, broken func(importer.Problem),
	progress func(int64)) error {
	read := int64(0)
	err := recording.Read(ctx, f, recording.Options{
		Open: func(rec *recording.Session) (recording.Sink, error) {
			s := &replayed{ctx: ctx, o: o, rec: rec, cache: cache, learnt: new(token.Calibration),
				weights: map[uint64]float64{}, begins: true,
				out: &Session{Name: rec.Name, Project: rec.Project, Source: string(rec.Source), File: f.Path,
					Histories: 1},
				failed: func(what string) { broken(importer.Problem{File: f.Path, What: rec.Name + ": " + what}) }}
			for _, p := range o.policies {
				s.runs = append(s.runs, s.newRun(p))
			}
			s.begin()
			for _, r := range s.runs {
				s.out.Outcomes = append(s.out.Outcomes, r.out)
			}
			return s, nil
		},
		Broken: broken,
		Progress: func(n int64) {
			progress(n - read)
			read = n
		},
	})
	progress(f.Size - read)
	if errors.Is(err, importer.ErrInput) {
		broken(importer.Problem{File: f.Path, What: err.Error()})
		return nil
	}
	return err
}

// add adds a session.
func (r *Report) add(s *Session) {
	r.Calls += s.Calls
	r.Histories += s.Histories
	r.Active += s.Active
	if r.Began.IsZero() || s.Began.Before(r.Began) {
		r.Began = s.Began
	}
	if s.Ended.After(r.Ended) {
		r.Ended = s.Ended
	}
	r.Paid.add(&s.Paid)
	r.Calibration.add(&s.Calibration)
	total := r.Unpriced
	if s.Priced {
		total = r.Total
		r.Priced++
	}
	for i, o := range s.Outcomes {
		total[i].Add(o)
	}
	for _, m := range s.Models {
		i := slices.IndexFunc(r.Models, func(n ModelUse) bool { return n.Model == m.Model })
		if i < 0 {
			i = len(r.Models)
			r.Models = append(r.Models, ModelUse{Model: m.Model})
		}
		r.Models[i].Calls += m.Calls
		r.Models[i].Paid.add(&m.Paid)
	}
}

func (r *Report) finish() {
	for _, total := range [][]*Outcome{r.Total, r.Unpriced} {
		for _, o := range total {
			o.finish()
			if whole := total[0].Cost; whole > 0 {
				o.CostRatio = o.Cost / whole
			}
		}
	}
	slices.SortStableFunc(r.Models, func(a, b ModelUse) int {
		return cmp.Or(cmp.Compare(b.Cost(), a.Cost()), cmp.Compare(b.Calls, a.Calls))
	})
}
