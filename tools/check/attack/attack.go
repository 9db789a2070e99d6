// Package attack attacks a server process.
//
//	./scripts/check attack [--oriel PATH] [--size N] NAME…|all|list
//
// The program is built from the module unless --oriel names one. Everything is bounded in
// count and time.
package attack

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/oriel-context/oriel/tools/check/kit"
)

// An attack tries to make a server fail. It returns nil if the server held,
// otherwise what failed.
type attack struct {
	name  string
	tries string // what is attempted, in a few words
	run   func(*trial) error
}

// attacks are in the order of docs/reference/attacks.md.
var attacks = []attack{
	{"bombs", "answers of some hundred bytes that unpack to 250 MB, 40 at once in br, gzip, zstd and deflate", bombs},
	{"large-answers", "20 plain answers of 60 MB at once", largeAnswers},
	{"large-events", "20 streams at once with one event of 60 MB", largeEvents},
	{"cut-events", "20 streams that break off at once behind an event of 60 MB", cutEvents},
	{"large-requests", "20 plain requests of 60 MB at once, then 30 compressed", largeRequests},
	{"many-parts", "requests of 2 million parts of 2 bytes, 12 at once in gzip, and 40 of 1 MB; 200 of as many as are read", requestsOfParts},
	{"many-parts-answers",
		"answers of 2 million parts of 2 bytes, 12 at once, plain and in gzip, and 40 of 1 MB; 200 of as many as are kept", answersOfParts},
	{"idle", "513 connections that announce 1 MB and send a byte; 8 that send 60 MB but for a byte", idle},
	{"readers", "120 exports and 60 other answers of 30 MB that nobody reads, and 30 bodies of 60 MB but for a byte, of a tenant that may only read", readers},
	{"stall", "45 kB of 410,000 equal messages that could belong to 256 branches, while others talk", stall},
	{"keys", "6 answers of 6 MB that a client with 115 kB or 15 kB of cookies leaves, before 12 large ones of another tenant and the end", keys},
	{"strangers", "2,200 connections of strangers, half of them with unfinished bodies, to a server with 1,024 files",
		strangers},
	{"holders", "1,100 requests of a tenant whose answers it does not read, and 1,100 whose bodies do not end, to a server with 1,024 files", holders},
	{"mcp", "16 requests of two tenants to MCP whose bodies do not come", mcpSlots},
	{"refused", "refused requests with 115 kB of cookies", refused},
	{"instructions", "3 requests of 134 kB that unpack to 53 MB of standing instructions", instructions},
	{"spellings", "19 spellings of a path of a tenant that has used up its calls", spellings},
	{"resume", "a restart with very many conversations (--size, 5,000) on a busy machine, and 100 that go on", resume},
	{"twins", "two servers on one folder and many calls (--size, 4,000)", twins},
	{"forged", "pages that begin as Oriel's digests, summaries and notes, in conversations that are cut, over a restart", forged},
	{"pages", "pages in the prompts of 18 programs that ask for something from now on, and new conversations of the project", pages},
}

// A trial is one run of an attack.
type trial struct {
	oriel   string // path of the program
	wanted  int    // --size; 0 for the attack's own
	dir     string // a folder of its own, removed at the end
	cleanup []func()
}

// say prints a figure or a step of the attack.
func (t *trial) say(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }

// size returns the size of an attack: --size, or own.
func (t *trial) size(own int) int { return cmp.Or(t.wanted, own) }

// atEnd calls f when the trial ends; the last one registered is called first.
func (t *trial) atEnd(f func()) { t.cleanup = append(t.cleanup, f) }

// Check runs the attacks that the arguments name.
func Check(args []string) error {
	flags := kit.Flags("attack")
	oriel := flags.String("oriel", "", "program to attack; default: built from the module")
	size := flags.Int("size", 0, "how much of it, for attacks that say so")
	chosen, err := choose(kit.Parse(flags, args))
	if err != nil || chosen == nil {
		return err
	}
	dir, err := os.MkdirTemp("", "oriel-check")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *oriel == "" {
		if *oriel, err = kit.BuildOriel(dir); err != nil {
			return err
		}
	}
	failed := 0
	for _, a := range chosen {
		fmt.Printf("%s: %s\n", a.name, a.tries)
		began := time.Now()
		bad, err := runAttack(&a, *oriel, *size)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		verdict := "ok"
		if bad != nil {
			verdict = "FAILED: " + bad.Error()
			failed++
		}
		fmt.Printf("  %s (%.1f s)\n", verdict, time.Since(began).Seconds())
	}
	fmt.Printf("%d passed, %d failed\n", len(chosen)-failed, failed)
	return kit.Failed(failed)
}

// choose returns the named attacks; it prints the list and returns none for
// "list".
func choose(names []string) ([]attack, error) {
	if len(names) == 0 {
		return nil, errors.New("name attacks, or all, or list")
	}
	var chosen []attack
	for _, name := range names {
		found := name == "all"
		for _, a := range attacks {
			if name == "list" {
				fmt.Printf("%-18s %s\n", a.name, a.tries)
			}
			if name == "all" || name == a.name {
				chosen, found = append(chosen, a), true
			}
		}
		if name == "list" {
			return nil, nil
		}
		if !found {
			return nil, fmt.Errorf("there is no attack %q: attack list prints all", name)
		}
	}
	return chosen, nil
}

// errSetup reports that an attack could not be made.
var errSetup = errors.New("could not be made")

func setup(what string, err error) error { return fmt.Errorf("%w: %s: %w", errSetup, what, err) }

// runAttack returns what failed under the attack, and why the attack could not
// be made.
func runAttack(a *attack, oriel string, size int) (bad, err error) {
	dir, err := os.MkdirTemp("", "oriel-"+strings.ReplaceAll(a.name, "/", "-"))
	if err != nil {
		return nil, err
	}
	t := &trial{oriel: oriel, dir: dir, wanted: size}
	t.atEnd(func() { os.RemoveAll(dir) })
	defer func() {
		for i := len(t.cleanup) - 1; i >= 0; i-- {
			t.cleanup[i]()
		}
	}()
	if bad = a.run(t); errors.Is(bad, errSetup) {
		return nil, bad
	}
	return bad, nil
}
