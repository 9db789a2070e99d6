//go:build !oriel_nomodel

package minilm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/internal/vector/mat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// computes skips a test of what vectors are, which takes minutes under the race detector
// and tells it nothing.
func computes(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("computes for long: run it without -race")
	}
}

func TestVectorIsTheSameBitByBitInAnyBatch(t *testing.T) {
	computes(t)
	texts, _ := golden(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, k := range mat.All() {
		t.Run(k.Name, func(t *testing.T) {
			texts := texts
			if k.Name == "go" {
				texts = first(5, texts)
			}
			m := open(t, Options{Threads: 2, Kernel: k.Name})
			alone := make([][]float32, len(texts))
			for i := range texts {
				alone[i] = vectorsOf(t, m, texts[i:i+1])[0]
			}
			for range 3 {
				order := random.Perm(len(texts))[:1+random.IntN(len(texts))]
				var batch []string
				for _, i := range order {
					batch = append(batch, texts[i])
				}
				for j, v := range vectorsOf(t, m, batch) {
					if i := order[j]; !slices.Equal(v, alone[i]) {
						t.Fatalf("%.60q: cosine %.7f between alone and one of %d", texts[i], cosine(v, alone[i]),
							len(batch))
					}
				}
			}
		})
	}
}

func TestKernelsAgreeWithinRounding(t *testing.T) {
	computes(t)
	texts, _ := golden(t)
	texts = first(10, texts)
	want := vectorsOf(t, open(t, Options{Kernel: "go"}), texts)
	for _, k := range mat.All() {
		for i, v := range vectorsOf(t, open(t, Options{Kernel: k.Name}), texts) {
			// A value that rounding moves over the edge of one of 255 steps
			// moves others in the layers that follow: the vectors differ by
			// less than quantising changes them, and not by the last bit only.
			if c := cosine(v, want[i]); c < 0.999 {
				t.Errorf("%s: cosine %.7f to plain Go for %.60q", k.Name, c, texts[i])
			}
		}
	}
}

func TestAnyStringHasAVectorOfLengthOne(t *testing.T) {
	computes(t)
	m := open(t, Options{})
	texts := []string{
		"", " ", "\n\t \u00a0\u3000", "\x00", "\xff\xfe", "caf\xc3", "a", "…", "👩‍👩‍👧‍👦", "[CLS]", "[PAD] [MASK]",
		strings.Repeat("x", 10<<20), strings.Repeat("word ", 2<<20), strings.Repeat("\xff", 1<<20),
		strings.Repeat("\u0301", 1<<20),
	}
	vectors := vectorsOf(t, m, texts)
	for i, v := range vectors {
		var squares float64
		for _, u := range v {
			squares += float64(u) * float64(u)
		}
		if len(v) != Dimensions || math.Abs(squares-1) > 1e-5 {
			t.Errorf("%.20q: %d dimensions, length %v", texts[i], len(v), math.Sqrt(squares))
		}
	}
	for i := range 5 {
		if !slices.Equal(vectors[i], vectors[0]) {
			t.Errorf("%q is not like the empty text", texts[i])
		}
	}
	if !slices.Equal(vectors[5], vectorsOf(t, m, []string{"caf"})[0]) {
		t.Error("bytes that are no UTF-8 are not passed over")
	}
}

func TestNoTextsNeedNoVectors(t *testing.T) {
	vectors, err := open(t, Options{}).Embed(context.Background(), nil)
	if err != nil || len(vectors) != 0 {
		t.Errorf("got %d vectors, %v", len(vectors), err)
	}
}

func TestMeaningIsNearerThanWords(t *testing.T) {
	computes(t)
	v := vectorsOf(t, open(t, Options{}), []string{
		"How do I get my money back?",
		"What is the refund policy?",
		"How do I get my bicycle back?",
	})
	if near, far := cosine(v[0], v[1]), cosine(v[0], v[2]); near <= far {
		t.Errorf("refund %.3f, bicycle %.3f", near, far)
	}
}

func TestEndedContextStopsABatch(t *testing.T) {
	m := open(t, Options{Threads: 2})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Embed(ctx, []string{"a", "b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// and in the middle: what is at hand is finished, no more is begun
	one := open(t, Options{Threads: 1})
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	begun := 0
	one.probe = func(d *dense, _ []float32) {
		if d == &one.weights.layers[0].qkv {
			begun++
			cancel()
		}
	}
	if _, err := one.Embed(ctx, slices.Repeat([]string{strings.Repeat("a long text ", 100)}, 20)); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
	if begun != 1 {
		t.Errorf("%d chunks were begun", begun)
	}
	one.probe = nil
	vectorsOf(t, one, []string{"the model is as good as before"})
}

// hold makes whoever computes wait until release is called, and says when the first
// does.
func hold(m *Model) (busy <-chan struct{}, release func()) {
	at, gate := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m.probe = func(*dense, []float32) {
		once.Do(func() { close(at) })
		<-gate
	}
	return at, func() { close(gate) }
}

func TestABatchIsSharedByTheWorkers(t *testing.T) {
	m := open(t, Options{Threads: 2})
	var helped atomic.Bool
	m.probe = func(*dense, []float32) {
		stack := make([]byte, 4096)
		if strings.Contains(string(stack[:runtime.Stack(stack, false)]), "(*Model).work") {
			helped.Store(true)
		}
	}
	texts := slices.Repeat([]string{"sixteen texts of some words are two halves, one for each of two threads"}, 16)
	// A worker that is not parked yet, or busy, is passed over.
	for range 1000 {
		vectorsOf(t, m, texts)
		if helped.Load() {
			return
		}
	}
	t.Error("the caller did it all")
}

func TestAQueryWaitsForAChunkNotForABatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := open(t, Options{Threads: 1})
	// One thread: only one calls the probe at a time.
	chunks, query := 0, make(chan int, 1)
	started := make(chan struct{})
	m.probe = func(d *dense, x []float32) {
		if d != &m.weights.layers[0].qkv {
			return
		}
		if len(x) < 20*width { // the query's few pieces
			query <- chunks
			return
		}
		if chunks++; chunks == 1 {
			close(started)
		}
	}
	done := make(chan error)
	go func() {
		_, err := m.Embed(ctx, slices.Repeat([]string{strings.Repeat("a long text ", 100)}, 200))
		done <- err
	}()
	<-started
	vectorsOf(t, m, []string{"a query"})
	if n := <-query; n > 100 {
		t.Errorf("the query came after %d of 200 chunks", n)
	}
	cancel() // the rest of the batch is of no interest
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOneWhoWaitsForAThreadMayGiveUp(t *testing.T) {
	m := open(t, Options{Threads: 1})
	busy, release := hold(m)
	done := make(chan error)
	go func() {
		_, err := m.Embed(context.Background(), []string{"the only thread is at this"})
		done <- err
	}()
	<-busy
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := m.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCloseMayComeTwice(t *testing.T) {
	m, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	m.Close()
}

func TestManyCallersShareAModel(t *testing.T) {
	texts, _ := golden(t)
	texts = first(60, texts)
	for len(texts) < 20 {
		texts = append(texts, texts...)
	}
	m := open(t, Options{Threads: 2})
	want := vectorsOf(t, m, texts)
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for i := range 4 {
				from := (7*c + 13*i) % (len(texts) - 9)
				got, err := m.Embed(context.Background(), texts[from:from+10])
				if err != nil {
					t.Error(err)
					return
				}
				for j, v := range got {
					if !slices.Equal(v, want[from+j]) {
						t.Errorf("text %d differs", from+j)
					}
				}
			}
		})
	}
	callers.Wait()
}

func TestCallsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	texts := slices.Repeat([]string{"a short text", "Ein längerer Text, with cafés and 漢字, " +
		strings.Repeat("and so on ", 30)}, 8)
	for _, threads := range []int{1, 2} {
		m := open(t, Options{Threads: threads})
		dst := make([]float32, len(texts)*width)
		run := func() {
			if err := m.EmbedInto(context.Background(), dst, texts); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := testing.AllocsPerRun(5, run); n > 0 {
			t.Errorf("%d threads: %v allocations a call", threads, n)
		}
	}
}

func TestWrongRoomIsRefused(t *testing.T) {
	if err := open(t, Options{}).EmbedInto(context.Background(), make([]float32, 10), []string{"a"}); err == nil {
		t.Error("10 values were room enough")
	}
}

func TestUnknownKernelIsRefused(t *testing.T) {
	_, err := Open(Options{Kernel: "abacus"})
	if err == nil || !strings.Contains(err.Error(), `does not have kernels "abacus"`) {
		t.Errorf("got %v", err)
	}
}

func TestEnvironmentForcesAndSwitchesOffKernels(t *testing.T) {
	t.Setenv(mat.Variable, "go")
	if k := open(t, Options{}).Kernel(); k != "go" {
		t.Errorf("forced go, got %s", k)
	}
	best := mat.All()[0].Name
	if best == "go" {
		t.Skip("this CPU has plain Go only")
	}
	t.Setenv(mat.Variable, "-"+best)
	if k := open(t, Options{}).Kernel(); k == best {
		t.Errorf("%s is in use though it is switched off", k)
	}
}

func TestNameTellsQuantisationAndVersion(t *testing.T) {
	m := open(t, Options{})
	if m.Name() != "all-MiniLM-L6-v2/int8-1" {
		t.Error(m.Name())
	}
	if !strings.Contains(m.Notice(), "Apache License") {
		t.Error(m.Notice())
	}
}
