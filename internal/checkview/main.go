// Command checkview replays recorded agent sessions through the sticky view, call by
// call, and measures what each call would have been: valid, within the budget, with a
// beginning that stays, and at what price from the provider's cache.
//
//	go run ./internal/checkview [-window 32000,64000,100000] PATH…
//
// The window is the budget of the whole request. Cost is in units of one uncached input
// token: what the last call of the conversation began with costs 0.1, the rest 1.25.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/strict"
	"github.com/oriel-context/oriel/internal/transcript"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/view"
	"github.com/oriel-context/oriel/wire"
)

func main() {
	windows := flag.String("window", "32000,64000,100000", "budgets, in tokens")
	keyword := flag.Bool("recall", false, "bring back what is needed, by words alone")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "checkview: name a file or folder of recorded sessions")
		os.Exit(2)
	}
	failed := false
	for text := range strings.SplitSeq(*windows, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			fmt.Fprintf(os.Stderr, "checkview: window %q: want a number of tokens\n", text)
			os.Exit(2)
		}
		t := &tally{window: n, recall: *keyword}
		for _, path := range flag.Args() {
			sessions, err := transcript.Open(path)
			if err != nil {
				fmt.Fprintf(os.Stderr, "checkview: %v\n", err)
				os.Exit(2)
			}
			for _, s := range sessions {
				if err := t.session(s); err != nil {
					fmt.Fprintf(os.Stderr, "checkview: %s: %v\n", s.Name, err)
					os.Exit(1)
				}
			}
		}
		t.print()
		failed = failed || t.invalid+t.over > 0
	}
	if failed {
		os.Exit(1)
	}
}

var ctx = context.Background()

type tally struct {
	window                              int
	recall                              bool
	calls, cuts, recalls, invalid, over int
	came                                int // bodies that were broken as they came
	cost, plain                         float64
	shown, whole                        int
	stable                              []float64
	times                               []time.Duration
}

func (t *tally) session(s *transcript.Session) error {
	store := memory.New()
	book := thread.NewBook(store, thread.Options{})
	models := token.Builtin()
	var library *recall.Library
	if t.recall {
		library = recall.NewLibrary(store, recall.LibraryOptions{})
		defer library.Close()
	}
	log := timeline.NewLog(store, timeline.LogOptions{})
	v := view.New(view.Options{Book: book, Models: models, Calibration: new(token.Calibration), Cache: token.NewCache(0), Recall: library, RecallWait: time.Second})
	judge := strict.Anthropic
	if s.Format == transcript.Chat {
		judge = strict.Chat
	}
	var last, lastPlain []byte
	history := -1
	n := 0
	for r := range s.Requests() {
		if r.History != history {
			history, last, lastPlain = r.History, nil, nil
		}
		n++
		b, err := wire.Read(bytes.Clone(r.Body), wire.Auto, wire.Limits{})
		if err != nil {
			return err
		}
		began := time.Now()
		system, chain := thread.Chain(b.Messages)
		req := &thread.Request{Tenant: timeline.Local, Hints: thread.Hints{Session: s.Name}, Lane: thread.LaneOf(thread.Prompt(&b.Request)), Messages: chain, Now: time.Unix(int64(n), 0)}
		_ = system
		th, err := book.Find(ctx, req)
		if err != nil {
			return err
		}
		res, err := v.Show(ctx, &view.Input{ID: strconv.Itoa(n), Body: b, Thread: th, Budget: t.window, Now: time.Unix(int64(n), 0)})
		if err != nil {
			return fmt.Errorf("call %d: %w", n, err)
		}
		t.times = append(t.times, time.Since(began))
		book.Done(th, nil, "")
		if library != nil {
			all := make([]timeline.Resent, len(chain))
			for i := range chain {
				all[i] = timeline.Resent{Raw: chain[i].Raw, Format: b.Format.String(), Role: string(chain[i].Role)}
			}
			if _, err := log.Append(ctx, timeline.Local, th.Conversation, all, func(i int) timeline.Hash { return th.Says[i] }, timeline.Change{Now: time.Unix(int64(n), 0)}); err != nil {
				return err
			}
		}
		t.calls++
		if res.New && res.Recalled == 0 {
			t.cuts++
		}
		if res.Recalled > 0 {
			t.recalls++
		}
		t.shown, t.whole = t.shown+res.After, t.whole+res.Before
		if res.After > t.window {
			t.over++
			fmt.Printf("%s call %d: %d tokens\n", s.Name, n, res.After)
		}
		if len(judge(r.Body)) > 0 {
			t.came++
		} else if p := judge(res.Body); len(p) > 0 {
			t.invalid++
			fmt.Printf("%s call %d: %v\n", s.Name, n, p)
		}
		share := common(last, res.Body)
		if last != nil && !(res.New && res.Cut != nil && res.Recalled == 0) {
			t.stable = append(t.stable, share)
		}
		t.cost += price(res.After, share, len(last), len(res.Body))
		t.plain += price(res.Before, common(lastPlain, r.Body), len(lastPlain), len(r.Body))
		last, lastPlain = res.Body, bytes.Clone(r.Body)
	}
	return nil
}

// common is the share of a body that the next one begins with, the end of its list of
// messages aside.
func common(before, after []byte) float64 {
	if len(before) == 0 {
		return 0
	}
	n := 0
	for n < len(before) && n < len(after) && before[n] == after[n] {
		n++
	}
	tail := len(before) - 1 - bytes.LastIndexByte(before, '}')
	if i := bytes.LastIndex(before, []byte("}]")); i >= 0 {
		tail = len(before) - i - 1
	}
	return min(1, float64(n)/float64(len(before)-tail))
}

// price is that of a prompt of which a share of the last body is in the cache.
func price(tokens int, share float64, last, size int) float64 {
	if size == 0 {
		return 0
	}
	read := share * float64(last) / float64(size) * float64(tokens)
	read = min(read, float64(tokens))
	return .1*read + 1.25*(float64(tokens)-read)
}

func (t *tally) print() {
	slices.Sort(t.times)
	slices.Sort(t.stable)
	bad := 0
	sum := 0.0
	for _, s := range t.stable {
		sum += s
		if s < .999 {
			bad++
		}
	}
	fmt.Printf("window %d: %d calls, %d cuts, %d recalls; %d invalid, %d over, %d came broken; cost %.1f%% of append-only, shown %.1f%% of the tokens; prefix stable %.2f%% (%d calls below 99.9%%); p50 %.2f ms, p99 %.2f ms\n",
		t.window, t.calls, t.cuts, t.recalls, t.invalid, t.over, t.came, 100*t.cost/t.plain, 100*float64(t.shown)/float64(t.whole), 100*sum/float64(max(1, len(t.stable))), bad,
		float64(t.times[len(t.times)/2].Microseconds())/1000, float64(t.times[len(t.times)*99/100].Microseconds())/1000)
}
