package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/vector/mat"
	"github.com/oriel-context/oriel/tools/bench/harness"
)

const (
	batch = "batch" // the case of many texts at once
	// Two ways in which ORT runs a batch; the better one counts.
	batchSorted = "batch-sorted"
	batchEach   = "batch-each"

	least = 20 * time.Millisecond // least time of a sample, in as many calls as needed
	slow  = time.Second           // a sample above this is taken only fewTimes
)

const fewTimes = 7

var lengths = []string{"16", "32", "64", "128", "256"}

// A comparison is one run of all contenders.
type comparison struct {
	rounds, starts           int
	json                     bool
	texts, f32, int8         string
	python, rival, models    string
	contenders, twoThreads   []*process
	nameORTInt8, nameORTFull string
	// others is how many processors other programs used meanwhile, with one
	// thread and with two.
	others []float64
}

// A process is a contender and its measurements.
type process struct {
	name    string
	threads int
	command []string
	rival   bool
	noBatch bool  // skipped, because it would take minutes
	file    int64 // bytes of its weights

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader

	used        float64              // CPU time in samples, in ns
	ms          map[string][]float64 // per call, by case
	loaded, up  []float64            // ms until the first vector: since loading, and since the start of the process
	resident    int64
	allocations map[string][2]float64 // number and bytes per call
}

func (c *comparison) run(w io.Writer) error {
	if err := c.enlist(); err != nil {
		return err
	}
	for range c.starts {
		for _, p := range c.contenders {
			if err := p.start(); err != nil {
				return err
			}
			p.stop()
		}
	}
	for _, group := range []struct {
		all   []*process
		cases []string
	}{{c.contenders, append(slices.Clone(lengths), batch)}, {c.twoThreads, []string{batch}}} {
		for _, p := range group.all {
			if err := p.start(); err != nil {
				return err
			}
			defer p.stop()
		}
		began, before := time.Now(), busy()
		for _, name := range group.cases {
			fmt.Fprintf(os.Stderr, "%s, %d threads …\n", name, group.all[0].threads)
			if err := c.measure(group.all, name); err != nil {
				return err
			}
		}
		elsewhere := float64(busy() - before)
		for _, p := range group.all {
			elsewhere -= p.used
		}
		c.others = append(c.others, max(0, elsewhere/float64(time.Since(began))))
		for _, p := range group.all {
			if err := p.rest(); err != nil {
				return err
			}
			p.stop()
		}
	}
	if c.json {
		return c.writeJSON(w)
	}
	c.report(w)
	return nil
}

// enlist lists the contenders.
func (c *comparison) enlist() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ours := func(name, weights, kernel, file string, threads int) (*process, error) {
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		return &process{name: name, threads: threads, file: info.Size(),
			command: []string{self, "serve", weights, kernel, strconv.Itoa(threads), c.texts}}, nil
	}
	ort := func(name, model string, threads int) (*process, error) {
		path := filepath.Join(c.models, model)
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		return &process{name: name, threads: threads, file: info.Size(), rival: true,
			command: []string{c.python, c.rival, "serve", path, filepath.Join(c.models, "model/tokenizer.json"),
				strconv.Itoa(threads), c.texts}}, nil
	}
	c.nameORTInt8, c.nameORTFull = "ORT int8", "ORT f32"
	add := func(to *[]*process, p *process, e error) {
		*to, err = append(*to, p), errors.Join(err, e)
	}
	kernels := mat.All()
	for i, k := range kernels {
		p, e := ours("Oriel int8, "+k.Name, "built-in", k.Name, c.int8, 1)
		if e == nil {
			p.noBatch = i > 0 && i == len(kernels)-1 // plain Go, if there is something better
		}
		add(&c.contenders, p, e)
	}
	best := kernels[0].Name
	p, e := ours("Oriel f32, "+best, c.f32, best, c.f32, 1)
	add(&c.contenders, p, e)
	p, e = ours("Oriel int8, "+best, "built-in", best, c.int8, 2)
	add(&c.twoThreads, p, e)
	p, e = ours("Oriel f32, "+best, c.f32, best, c.f32, 2)
	add(&c.twoThreads, p, e)
	for _, model := range []struct{ name, file string }{{c.nameORTInt8, "int8.onnx"}, {c.nameORTFull, "f32.onnx"}} {
		p, e = ort(model.name, model.file, 1)
		add(&c.contenders, p, e)
		p, e = ort(model.name, model.file, 2)
		add(&c.twoThreads, p, e)
	}
	return err
}

// measure takes the samples of a case, one of each contender in turn.
func (c *comparison) measure(all []*process, name string) error {
	if name == batch {
		all = slices.DeleteFunc(slices.Clone(all), func(p *process) bool { return p.noBatch })
	}
	calls := map[*process]map[string]int{}
	for _, p := range all {
		calls[p] = map[string]int{}
		for _, way := range p.ways(name) {
			if _, err := p.sample(way, 0, 1); err != nil { // warm up
				return err
			}
			ms, err := p.sample(way, 1, 1)
			if err != nil {
				return err
			}
			calls[p][way] = min(64, max(1, int(math.Ceil(least.Seconds()*1000/ms))))
		}
	}
	for round := range c.rounds {
		for _, p := range all {
			for _, way := range p.ways(name) {
				if done := p.ms[way]; len(done) >= fewTimes && done[0] > slow.Seconds()*1000 {
					continue
				}
				ms, err := p.sample(way, round*calls[p][way], calls[p][way])
				if err != nil {
					return err
				}
				p.ms[way] = append(p.ms[way], ms)
			}
		}
	}
	if ways := all[len(all)-1].ways(name); len(ways) > 1 {
		for _, p := range all {
			if p.rival {
				p.ms[batch] = slices.MinFunc([][]float64{p.ms[ways[0]], p.ms[ways[1]]}, func(a, b []float64) int {
					return int(math.Copysign(1, harness.Median(a)-harness.Median(b)))
				})
			}
		}
	}
	return nil
}

// ways returns how a contender can run a case.
func (p *process) ways(name string) []string {
	if p.rival && name == batch {
		return []string{batchSorted, batchEach}
	}
	return []string{name}
}

// start starts the process and waits for its first vector.
func (p *process) start() error {
	p.cmd = exec.Command(p.command[0], p.command[1:]...)
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	f, err := p.answer()
	if err != nil {
		return err
	}
	if len(f) != 2 || f[0] != "ready" {
		return fmt.Errorf("%s is not ready: %q", p.name, f)
	}
	p.up = append(p.up, time.Since(began).Seconds()*1000)
	ns, err := strconv.ParseFloat(f[1], 64)
	p.loaded = append(p.loaded, ns/1e6)
	if p.ms == nil {
		p.ms, p.allocations = map[string][]float64{}, map[string][2]float64{}
	}
	return err
}

// stop ends the process, if it runs.
func (p *process) stop() {
	if p.cmd != nil {
		p.in.Close()
		_ = p.cmd.Wait() // it has printed everything
		p.cmd = nil
	}
}

func (p *process) answer() ([]string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return strings.Fields(line), nil
}

func (p *process) ask(format string, args ...any) ([]float64, error) {
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	f, err := p.answer()
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(f))
	for i := range f {
		if out[i], err = strconv.ParseFloat(f[i], 64); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return out, nil
}

// sample returns the milliseconds of a call: CPU time with one thread, which
// other programs disturb less, and wall time with more.
func (p *process) sample(way string, from, calls int) (float64, error) {
	t, err := p.ask("time %s %d %d", way, from, calls)
	if err != nil {
		return 0, err
	}
	if len(t) != 2 {
		return 0, fmt.Errorf("%s: %d times", p.name, len(t))
	}
	p.used += t[1]
	ns := t[1]
	if p.threads > 1 {
		ns = t[0]
	}
	return ns / 1e6 / float64(calls), nil
}

// rest requests the figures that are not times.
func (p *process) rest() error {
	m, err := p.ask("memory")
	if err != nil {
		return err
	}
	p.resident = int64(m[0])
	if p.rival {
		return nil
	}
	for _, name := range []string{"32", batch} {
		if name == batch && p.noBatch {
			continue
		}
		a, err := p.ask("allocations %s", name)
		if err != nil {
			return err
		}
		p.allocations[name] = [2]float64{a[0], a[1]}
	}
	return nil
}

// busy returns the CPU time of the whole machine so far, or 0 without /proc.
func busy() time.Duration {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(data), "\n")
	var ticks int64
	for i, f := range strings.Fields(line) {
		n, err := strconv.ParseInt(f, 10, 64)
		if idle := i == 4 || i == 5; err == nil && !idle && i < 9 { // guests are already counted as users
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
