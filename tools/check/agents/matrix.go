package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// row is what was seen of a program, once.
type row struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
	API     string `json:"api"`
	Set     string `json:"set"`
	Date    string `json:"date"`
	// Skipped is why the program could not be run; the rest is empty then.
	Skipped string `json:"skipped,omitempty"`

	Calls    int `json:"calls"`
	Sessions int `json:"sessions"`
	// Budget is that of the profile, Sent and Came the largest request as it arrived and as the
	// program wrote it, in tokens of four bytes.
	Budget int `json:"budget"`
	Sent   int `json:"sent"`
	Came   int `json:"came"`
	Cuts   int `json:"cuts"`
	// Breaks and Own are how often the beginning of a prompt changed, as sent and as written.
	Breaks int `json:"breaks"`
	Own    int `json:"own"`
	// Asked is how often the program asked for the fact, Recalled how often the request had it.
	Asked    int `json:"asked"`
	Recalled int `json:"recalled"`
	// Replies are those that were compared with the model's bytes, Same those that are the same.
	Replies int `json:"replies"`
	Same    int `json:"same"`
	// Summaries are the requests for a summary by the program, Whole those that were sent whole.
	Summaries int    `json:"summaries"`
	Whole     int    `json:"whole"`
	Usage     string `json:"usage"`
	Seconds   int    `json:"seconds"`
	// Problems are what is wrong; Why is set if that is known and explained.
	Problems []string `json:"problems,omitempty"`
	Why      string   `json:"why,omitempty"`
}

// matrix is how the table is made.
type matrix struct {
	oriel, install, keep string
	results, page        string // files
	parts, jobs          int
	asJSON               bool
}

// check runs programs, prints a row for each, adds the rows to the results, and writes the page of
// all results. It returns how many failed.
func (m *matrix) check(names []string) (failed int, err error) {
	chosen, err := choosePrograms(names)
	if err != nil {
		return 0, err
	}
	if len(names) == 0 {
		chosen = slices.Concat(programs, others)
	}
	dir, oriel, err := workspace(m.oriel)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	m.oriel = oriel
	if !m.asJSON {
		fmt.Printf(programRow, "program", "version", "calls", "sessions", "budget", "largest", "recalled", "whole",
			"seconds", "verdict")
	}
	var mu sync.Mutex
	var errs []error
	var running sync.WaitGroup
	places := make(chan struct{}, m.jobs)
	for i := range chosen {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-places }()
			r, err := m.run(&chosen[i], filepath.Join(dir, strconv.Itoa(i)))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", chosen[i].name, err))
				return
			}
			if len(r.Problems) > 0 && r.Why == "" {
				failed++
			}
			m.print(&r)
			errs = append(errs, m.add(r))
		})
	}
	running.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil || m.page == "" {
		return failed, err
	}
	all, err := m.read()
	if err != nil {
		return failed, err
	}
	return failed, os.WriteFile(m.page, page(all), 0o644)
}

// run installs a program and runs it.
func (m *matrix) run(p *program, dir string) (row, error) {
	p.parts = cmp.Or(m.parts, p.parts)
	r := row{Name: p.name, Title: p.title, Version: p.version(), API: p.api, Set: p.set, Budget: p.budget,
		Date: time.Now().Format(time.DateOnly)}
	began := time.Now()
	s, err := p.seat(m.oriel, m.install, dir)
	if err == nil {
		r.Version, err = p.installed(m.install)
	}
	if err != nil {
		r.Skipped = fmt.Sprintf("%.300v", err)
		return r, nil
	}
	defer os.RemoveAll(dir)
	if err := s.check(); err != nil {
		return r, err
	}
	if m.keep != "" {
		if err := s.keep(filepath.Join(m.keep, p.name)); err != nil {
			return r, err
		}
	}
	r.Calls, r.Sessions, r.Sent, r.Came, r.Cuts = len(s.calls), s.sessions, s.largest, s.came, s.cuts
	r.Breaks, r.Own, r.Asked, r.Recalled = s.breaks, s.own, s.asked, s.recalled
	r.Replies, r.Same, r.Usage = s.replies, s.same, s.usage
	r.Summaries, r.Whole = s.model.summaries, s.model.summaries-s.shortened
	r.Seconds, r.Problems = int(time.Since(began).Seconds()), s.problems
	if s.explained() {
		r.Why = p.why
	}
	return r, nil
}

func (m *matrix) print(r *row) {
	if m.asJSON {
		raw, _ := json.Marshal(r)
		fmt.Printf("%s\n", raw)
		return
	}
	if r.Skipped != "" {
		fmt.Printf("SKIPPED %s %s, NOT CHECKED: %s\n", r.Name, r.Version, r.Skipped)
		return
	}
	verdict, whole := "ok", "none"
	if r.Why != "" {
		verdict = "known: " + r.Why
	} else if len(r.Problems) > 0 {
		verdict = "FAILED"
	}
	if r.Summaries > 0 {
		whole = fmt.Sprintf("%d/%d", r.Whole, r.Summaries)
	}
	fmt.Printf(programRow, r.Name, r.Version, r.Calls, r.Sessions, r.Budget, r.Sent,
		fmt.Sprintf("%d/%d", r.Recalled, r.Asked), whole, r.Seconds, verdict)
	if r.Why == "" {
		for _, problem := range r.Problems[:min(len(r.Problems), 8)] {
			fmt.Printf("        %.600s\n", problem)
		}
	}
}

// read reads the results so far.
func (m *matrix) read() (map[string]row, error) {
	all := map[string]row{}
	raw, err := os.ReadFile(m.results)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		err = fmt.Errorf("the results so far: %w: remove %s to begin anew", err, m.results)
	}
	return all, err
}

// add keeps a row for the next runs, and those that other runs have added meanwhile.
func (m *matrix) add(r row) error {
	all, err := m.read()
	if err != nil {
		return err
	}
	all[r.Name] = r
	raw, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(m.results, append(raw, '\n'), 0o644)
}
