package embed_test

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/embed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a model that writes down what it was asked.
type fake struct {
	mu    sync.Mutex
	asked [][]string
	// answer replaces the vectors that meaning gives.
	answer func(ctx context.Context, texts []string) ([][]float32, error)
}

func (f *fake) Name() string { return "fake/1" }

func (f *fake) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	f.mu.Lock()
	f.asked = append(f.asked, slices.Clone(texts))
	f.mu.Unlock()
	if f.answer != nil {
		return f.answer(ctx, texts)
	}
	return meanings(texts), nil
}

// takeAsked gives what was asked since the last time.
func (f *fake) takeAsked() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

// meaning is a vector that differs from text to text.
func meaning(text string) []float32 {
	v := []float32{float32(len(text)), 0, 0}
	for _, b := range []byte(text) {
		v[1] = v[1]*31 + float32(b)
	}
	return v
}

func meanings(texts []string) [][]float32 {
	vectors := [][]float32{}
	for _, text := range texts {
		vectors = append(vectors, meaning(text))
	}
	return vectors
}

func ask(t *testing.T, m embed.Model, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := m.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(meanings(texts), vectors); diff != "" {
		t.Fatalf("vectors of %q:\n%s", texts, diff)
	}
	return vectors
}

func TestOnlyWhatIsMissingIsAsked(t *testing.T) {
	long := strings.Repeat("x", embed.MaxCachedText+1)
	most := strings.Repeat("y", embed.MaxCachedText)
	for _, c := range []struct {
		name    string
		entries int
		batches [][]string
		asked   [][]string
	}{
		{"a query that comes again", 2, [][]string{{"a"}, {"a"}}, [][]string{{"a"}}},
		{"some of a batch", 3, [][]string{{"a", "b"}, {"c", "a", "d"}}, [][]string{{"a", "b"}, {"c", "d"}}},
		{"twice in a batch", 3, [][]string{{"a", "b", "a"}, {"b", "b"}}, [][]string{{"a", "b"}}},
		{"the least used leaves", 2, [][]string{{"a"}, {"b"}, {"a"}, {"c"}, {"a"}, {"b"}},
			[][]string{{"a"}, {"b"}, {"c"}, {"b"}}},
		{"one entry", 1, [][]string{{"a"}, {"a"}, {"b"}, {"a"}}, [][]string{{"a"}, {"b"}, {"a"}}},
		{"a batch larger than the cache", 1, [][]string{{"a", "b"}, {"b"}, {"a"}}, [][]string{{"a", "b"}, {"a"}}},
		{"no entries", 0, [][]string{{"a", "a"}, {"a"}}, [][]string{{"a", "a"}, {"a"}}},
		{"fewer than none", -1, [][]string{{"a"}, {"a"}}, [][]string{{"a"}, {"a"}}},
		{"a long text is not kept", 2, [][]string{{long, "a", long}, {long, "a"}}, [][]string{{long, "a"}, {long}}},
		{"the longest text that is kept", 2, [][]string{{most}, {most}}, [][]string{{most}}},
		{"the empty text is one like others", 2, [][]string{{""}, {""}}, [][]string{{""}}},
		{"no texts", 2, [][]string{{}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := &fake{}
			cache := embed.NewCache(model, c.entries)
			for _, batch := range c.batches {
				ask(t, cache, batch...)
			}
			if diff := cmp.Diff(c.asked, model.takeAsked()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCacheHasTheNameOfItsModel(t *testing.T) {
	if name := embed.NewCache(&fake{}, 1).Name(); name != "fake/1" {
		t.Error(name)
	}
}

func TestWritingToAVectorDamagesNothing(t *testing.T) {
	cache := embed.NewCache(&fake{}, 4)
	for range 3 { // missing, kept, kept
		vectors := ask(t, cache, "a", "b", "a")
		vectors[0][0] = -1
		if vectors[2][0] == -1 {
			t.Fatal("two vectors of a batch share memory")
		}
		clear(vectors[1])
		clear(vectors[2])
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	broken := errors.New("broken")
	model := &fake{answer: func(context.Context, []string) ([][]float32, error) { return nil, broken }}
	cache := embed.NewCache(model, 4)
	if _, err := cache.Embed(t.Context(), []string{"a"}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	model.answer = nil
	ask(t, cache, "a")
}

func TestAModelThatGivesTooFewVectorsIsNotBelieved(t *testing.T) {
	model := &fake{answer: func(context.Context, []string) ([][]float32, error) { return [][]float32{{1}}, nil }}
	for _, entries := range []int{0, 4} {
		cache := embed.NewCache(model, entries)
		if _, err := cache.Embed(t.Context(), []string{"a", "b"}); err == nil {
			t.Errorf("%d entries: no error", entries)
		}
	}
}

func TestThoseWhoAskAtTheSameTimeAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		model := &fake{answer: func(_ context.Context, texts []string) ([][]float32, error) {
			<-release
			return meanings(texts), nil
		}}
		cache := embed.NewCache(model, 4)
		for range 3 {
			go func() {
				vectors, err := cache.Embed(t.Context(), []string{"a", "a"})
				if err != nil || len(vectors) != 2 {
					t.Error(vectors, err)
					return
				}
				clear(vectors[0]) // a race if others had the same memory
			}()
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		if diff := cmp.Diff([][]string{{"a"}}, model.takeAsked()); diff != "" {
			t.Error(diff)
		}
		ask(t, cache, "a")
	})
}

// One who gives up, fails or panics must not fail the others.
func TestThoseWhoWaitForOneThatFailsAskThemselves(t *testing.T) {
	for _, c := range []struct {
		name string
		fail func(ctx context.Context) // ends the first call without vectors
	}{
		{"cancelled", func(ctx context.Context) { <-ctx.Done() }},
		{"panics", func(ctx context.Context) { <-ctx.Done(); panic("model") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				model := &fake{answer: func(ctx context.Context, texts []string) ([][]float32, error) {
					if asked.Add(1) == 1 {
						c.fail(ctx)
						return nil, ctx.Err()
					}
					return meanings(texts), nil
				}}
				cache := embed.NewCache(model, 4)
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					defer func() { _ = recover() }()
					if _, err := cache.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
						t.Error("the one who gave up:", err)
					}
				}()
				synctest.Wait()
				for range 2 {
					go func() {
						vectors, err := cache.Embed(t.Context(), []string{"b", "a"})
						if diff := cmp.Diff(meanings([]string{"b", "a"}), vectors); err != nil || diff != "" {
							t.Error(err, diff)
						}
					}()
				}
				synctest.Wait()
				cancel()
				synctest.Wait()
			})
		})
	}
}

func TestOneWhoWaitsCanGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		model := &fake{answer: func(_ context.Context, texts []string) ([][]float32, error) {
			<-release
			return meanings(texts), nil
		}}
		cache := embed.NewCache(model, 4)
		go func() {
			if _, err := cache.Embed(t.Context(), []string{"a"}); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if _, err := cache.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(release)
	})
}

// lru is the definition: a map and a list.
type lru struct {
	kept  map[string]bool
	order *list.List // the oldest in front
	max   int
}

// use gives the texts that must be asked for.
func (l *lru) use(texts []string) (missing []string) {
	seen := map[string]bool{}
	var fresh []string
	for _, text := range texts {
		if seen[text] {
			continue
		}
		seen[text] = true
		if !l.kept[text] {
			fresh = append(fresh, text)
			continue
		}
		for e := l.order.Front(); e != nil; e = e.Next() {
			if e.Value == text {
				l.order.MoveToBack(e)
				break
			}
		}
	}
	for _, text := range fresh {
		l.order.PushBack(text)
		l.kept[text] = true
		if l.order.Len() > l.max {
			delete(l.kept, l.order.Remove(l.order.Front()).(string))
		}
	}
	return fresh
}

func TestCacheIsAMapAndAList(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		entries := rapid.IntRange(1, 5).Draw(r, "entries")
		model := &fake{}
		cache := embed.NewCache(model, entries)
		plain := &lru{map[string]bool{}, list.New(), entries}
		broken := errors.New("broken")
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			batch := rapid.SliceOfN(rapid.SampledFrom(strings.Split("abcdefgh", "")), 1, 6).Draw(r, "batch")
			if rapid.IntRange(0, 9).Draw(r, "fail") == 0 {
				// A text of its own is always missing, so the model is asked and fails;
				// what was kept counts as used all the same.
				model.answer = func(context.Context, []string) ([][]float32, error) { return nil, broken }
				if _, err := cache.Embed(t.Context(), []string{"new"}); !errors.Is(err, broken) {
					r.Fatal(err)
				}
				model.answer = nil
				model.takeAsked()
			}
			vectors, err := cache.Embed(t.Context(), batch)
			if err != nil {
				r.Fatal(err)
			}
			if diff := cmp.Diff(meanings(batch), vectors); diff != "" {
				r.Fatal(diff)
			}
			for _, v := range vectors {
				clear(v) // callers may
			}
			var asked []string
			if all := model.takeAsked(); len(all) > 0 {
				asked = slices.Concat(all...)
			}
			if diff := cmp.Diff(plain.use(batch), asked); diff != "" {
				r.Fatalf("asked for other texts than a plain list would:\n%s", diff)
			}
		}
	})
}

func TestManyCallersGetWhatTheyAskedFor(t *testing.T) {
	cache := embed.NewCache(&fake{}, 3)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 300 {
				batch := []string{strings.Repeat("a", (i+worker)%5), strings.Repeat("b", i%3), strings.Repeat("a", i%4)}
				vectors, err := cache.Embed(t.Context(), batch)
				if diff := cmp.Diff(meanings(batch), vectors); err != nil || diff != "" {
					t.Error(err, diff)
					return
				}
				clear(vectors[i%3])
			}
		})
	}
	group.Wait()
}
