package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// outputs generate the long outputs of commands, always the same.
var outputs = map[string]any{
	"tests": tests, "trace": trace, "nights": nights, "soak": soak, "commits": commits, "units": units, "race": race,
	"lost":  lost,
	"bench": bench, "relay": relay, "checks": checks, "pairs": pairs, "merchants": merchants, "hours": hours,
	"cores": cores, "contention": contention, "service": service, "all": all,
}

// paper collects lines.
type paper struct{ strings.Builder }

func (p *paper) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func euro(cents int) string { return fmt.Sprintf("%d.%02d EUR", cents/100, cents%100) }

// failure prints the output of a failing test run.
func failure(p *paper, name string, batch, off int) {
	p.line("--- FAIL: %s (0.31s)", name)
	p.line("    collector_test.go:49: batch b-%06d: 16 payments add up to %s, total is %s (off by %s)", batch,
		euro(3512+off), euro(3512), euro(off))
	for i := range 4 {
		p.line("    collector_test.go:57: payment p-%d-%03d was sent 2 times", (batch+3*i)%8, (7*batch+i)%250)
	}
	p.line("    collector_test.go:61: 1996 payments arrived, want 2000")
}

func tests(name string, runs int, failing ...int) string {
	var p paper
	for _, at := range failing {
		failure(&p, name, 3*at+2, at%9+2)
	}
	p.line("FAIL")
	p.line("FAIL\tharbor/settle\t%d.408s (%d of %d runs failed)", runs*13/100, len(failing), runs)
	p.line("FAIL")
	return p.String()
}

// trace returns the service's log of a run of the test.
func trace(seed uint64, fails bool) string {
	r, p := dice(seed), new(paper)
	at := time.Date(2026, 11, 9, 9, 14, 2, 0, time.UTC)
	p.line("=== RUN   TestSettleBatch")
	first := 61
	for i := range 54 {
		at = at.Add(time.Duration(200+r.IntN(2600)) * time.Microsecond)
		clock := at.Format("15:04:05.000000")
		switch batch := first + i/3; i % 3 {
		case 0:
			p.line("%s collector batch=b-%06d closed by=size payments=16 total=%q waiting=%d", clock, batch,
				euro(2400+r.IntN(2000)), r.IntN(2))
		case 1:
			p.line("%s sender    batch=b-%06d submit lines=16 try=1", clock, batch)
		case 2:
			p.line("%s bank      batch=b-%06d confirmed fee=\"0.20 EUR\" took=%dµs", clock, batch, 200+r.IntN(2700))
		}
		if fails && i == 47 {
			p.line("%s collector batch=b-%06d closed by=interval payments=16 total=%q waiting=1", clock, first+16,
				euro(3512))
			p.line("%s collector add payment=p-%d-117 while batch=b-%06d waits", clock, 5, first+16)
		}
	}
	if fails {
		failure(p, "TestSettleBatch", first+16, 7)
		p.line("FAIL\nexit status 1\nFAIL\tharbor/settle\t31.277s")
	} else {
		p.line("--- PASS: TestSettleBatch (0.29s)\nPASS\nok  \tharbor/settle\t0.301s")
	}
	return p.String()
}

func nights() string {
	var p paper
	p.line("STATUS  TITLE            WORKFLOW  BRANCH  EVENT     ID    ELAPSED  AGE")
	for i := range 20 {
		id := 8818 - 2*i
		sign, took := "✓", "6m41s"
		if id == 8812 || id == 8790 || id == 8784 {
			sign, took = "X", "4m03s"
		}
		p.line("%s       nightly soak     nightly   main    schedule  %d  %s    about %d days ago", sign, id, took, i+1)
	}
	return p.String()
}

// soak returns the log of a night that failed after the given number of runs.
func soak(after int) string {
	r, p := dice(uint64(after)), new(paper)
	at := time.Date(2026, 11, 6, 2, 0, 11, 0, time.UTC)
	say := func(format string, args ...any) {
		at = at.Add(time.Duration(300+r.IntN(9000)) * time.Millisecond)
		p.line("soak\tmake soak\t%s %s", at.Format("2006-01-02T15:04:05.0000000Z"), fmt.Sprintf(format, args...))
	}
	say("##[group]Run make soak")
	say("make soak")
	say("env: GOMAXPROCS=4 GOFLAGS=-mod=readonly HARBOR_ENV=ci")
	say("##[endgroup]")
	say("go: downloading github.com/jackc/pgx/v5 v5.7.1")
	say("go: downloading golang.org/x/sync v0.10.0")
	say("GOMAXPROCS=4 go test ./settle -count=2000 -failfast")
	for i := range 34 {
		say("load: cpu %d%% runnable %d goroutines %d heap %d MB gc %d", 61+r.IntN(38), 2+r.IntN(9), 21+r.IntN(6),
			11+r.IntN(9), 40+13*i)
	}
	var f paper
	failure(&f, "TestSettleBatch", after/3, after%9+1)
	for l := range strings.Lines(f.String()) {
		say("%s", strings.TrimRight(l, "\n"))
	}
	say("FAIL: run %d of 2000", after)
	say("FAIL\tharbor/settle\t%d.802s", after/7)
	say("make: *** [Makefile:13: soak] Error 1")
	say("##[error]Process completed with exit code 2.")
	return p.String()
}

func commits() string {
	return `e90c1d7 docs: how staging is settled
b7712f0 bank: give the file's id with every error
4e1f0c2 money: round shares half to even
aa02c61 store: say which database could not be reached
61d8f4e ledger: one event a settlement, not one an entry
f3c9b28 ci: soak on four cores
0d4a7be settle: page when a total does not fit
9b7d3aa settle: do not allocate for each batch
77e02d5 clock: a fake one for tests
c1b6ea9 settle: value dates of bank holidays
5f20c93 outbox: at least once, and say so
d3f1177 bank: the fake one takes its time
38ac04b ledger: refuse what does not balance
e4470aa store: serializable, and try again
902bd6c settle: close batches by time, too
1a7fe52 money: no floats
6cd81b4 outbox: events leave with the posting
2c81e0f settle: a collector
b3397d1 ledger: double entry
07fa4c8 store: settlements and their lines
8e6d2f3 bank: the acquirer's files
f1102ab money: amounts in minor units
c77b9e0 ci: nightly
4409d1c make: test, test-db, lint
a0000e1 harbor
`
}

func units() string {
	r, p := dice(5), new(paper)
	for _, pkg := range []struct {
		name  string
		tests []string
	}{
		{"money", []string{"TestPlus", "TestPlusOfCurrencies", "TestMinus", "TestShare", "TestShareRoundsHalfToEven",
			"TestShareOfNegative", "TestString"}},
		{"ledger", []string{"TestPostSettlement", "TestPostingTwice", "TestFeesAreDebited", "TestUnbalancedIsRefused",
			"TestEventWithPosting", "TestNoEventWithoutPosting"}},
	} {
		for _, t := range pkg.tests {
			p.line("=== RUN   %s", t)
			if strings.HasPrefix(t, "TestShare") {
				for _, c := range []string{"third_of_100", "half_of_5", "half_of_15", "all", "none"} {
					p.line("=== RUN   %s/%s", t, c)
				}
			}
			p.line("--- PASS: %s (0.0%ds)", t, r.IntN(3))
		}
		p.line("PASS\nok  \tharbor/%s\t0.0%02ds", pkg.name, 4+r.IntN(20))
	}
	return p.String()
}

func race(batch int) string {
	p := new(paper)
	p.line("==================\nWARNING: DATA RACE")
	stack := func(head string, frames ...string) {
		p.line("%s", head)
		for i := 0; i < len(frames); i += 2 {
			p.line("  %s()\n      /src/harbor/%s", frames[i], frames[i+1])
		}
		p.line("")
	}
	stack("Write at 0x00c0002a4000 by goroutine 31:", "harbor/settle.(*Collector).Add", "settle/collector.go:51 +0x1c4",
		"harbor/settle.TestSettleBatch.func3", "settle/collector_test.go:38 +0x2f8")
	stack("Previous read at 0x00c0002a4000 by goroutine 28:", "harbor/settle.toFile", "settle/sender.go:76 +0x24c",
		"harbor/settle.(*Sender).send", "settle/sender.go:57 +0x118", "harbor/settle.(*Sender).Run",
		"settle/sender.go:31 +0x190",
		"harbor/settle.TestSettleBatch.func2", "settle/collector_test.go:28 +0x6c")
	stack("Goroutine 31 (running) created at:", "harbor/settle.TestSettleBatch", "settle/collector_test.go:33 +0x4a0",
		"testing.tRunner", "testing/testing.go:1934 +0x21c")
	stack("Goroutine 28 (running) created at:", "harbor/settle.TestSettleBatch", "settle/collector_test.go:28 +0x3ec",
		"testing.tRunner", "testing/testing.go:1934 +0x21c")
	p.line("==================")
	failure(p, "TestSettleBatch", batch, 4)
	p.line("    testing.go:1617: race detected during execution of test\nFAIL\nFAIL\tharbor/settle\t7.114s\nFAIL")
	return p.String()
}

func lost() string {
	p := new(paper)
	p.line("=== RUN   TestBatchesKeepTheirPayments")
	p.line("    collector_test.go:79: batch b-000001: 4 payments add up to 4.22 EUR, total is 4.06 EUR (off by 0.16 EUR)")
	for i := range 4 {
		p.line("    collector_test.go:83: batch b-000001, payment %d is p-%d, want p-%d", i, i+4, i)
	}
	p.line("--- FAIL: TestBatchesKeepTheirPayments (0.00s)\nFAIL\nexit status 1\nFAIL\tharbor/settle\t0.007s")
	return p.String()
}

func bench(ns, bytes, allocs int) string {
	r, p := dice(uint64(ns)), new(paper)
	p.line("goos: linux\ngoarch: amd64\npkg: harbor/settle\ncpu: AMD EPYC 9554P 64-Core Processor")
	for _, b := range []struct {
		name string
		by   int
	}{{"CollectorAdd", 1}, {"CollectorFull", 16}, {"CollectorParallel", 3}} {
		for range 6 {
			p.line("Benchmark%s-4\t%8d\t%8d ns/op\t%8d B/op\t%4d allocs/op", b.name, 300000/b.by, ns*b.by/8+r.IntN(60),
				bytes*b.by/16+r.IntN(8), allocs*b.by)
		}
	}
	p.line("PASS\nok  \tharbor/settle\t31.%ds", 100+r.IntN(800))
	return p.String()
}

func relay(before bool) string {
	r, p := dice(11), new(paper)
	names := []string{"TestRelaySends", "TestRelayTriesAgain", "TestRelayEnds", "TestBufferIsBounded"}
	if !before {
		names = append(names, "TestTakenEventsStay")
	}
	for range 12 {
		for _, n := range names {
			p.line("=== RUN   %s\n--- PASS: %s (0.%02ds)", n, n, r.IntN(9))
		}
	}
	p.line("… (8 more rounds)\nPASS\nok  \tharbor/outbox\t%d.7s", 2+len(names))
	return p.String()
}

func checks() string {
	p := new(paper)
	for _, c := range []string{"build (linux, amd64)", "build (linux, arm64)", "lint", "test", "test-db", "race",
		"soak (500)", "migrations"} {
		p.line("%-22s pass  %dm%02ds  https://ci.harbor.example/harbor/1187/%s", c, len(c)%4, 3*len(c)%60,
			strings.Fields(c)[0])
	}
	return p.String()
}

func pairs(n int) string {
	r, p := dice(23), new(paper)
	p.line("   payment    | count |     array_agg\n--------------+-------+---------------------")
	batch := 410233
	for range n {
		batch += 1 + r.IntN(25)
		p.line(" p-%02d-%07d |     2 | {b-%06d,b-%06d}", r.IntN(40), 1000000+r.IntN(8999999), batch, batch+1)
	}
	p.line("(%d rows)", n)
	return p.String()
}

func merchants(n int) string {
	r, p := dice(29), new(paper)
	p.line(" merchant |          name          | payments | amount\n----------+------------------------+----------+------------")
	kinds, towns := []string{"Bakery", "Books", "Cycles", "Garden", "Optics", "Tea", "Tools", "Wine"},
		[]string{"Aveiro", "Braga", "Coimbra", "Faro", "Leiria", "Porto", "Viseu"}
	for i := range n {
		p.line(" m-%05d  | %-22s | %8d | %s", 1000+r.IntN(90000), kinds[i%len(kinds)]+" "+towns[i%len(towns)],
			1+r.IntN(3), euro(900+r.IntN(21000)))
	}
	p.line("(%d rows)", n)
	return p.String()
}

func hours() string {
	p := new(paper)
	p.line(" hour | batches | pairs\n------+---------+-------")
	for h := range 24 {
		batches, pairs := 6, 0
		switch {
		case h == 12, h == 18:
			batches, pairs = 260, 17
		case h > 8 && h < 21:
			batches, pairs = 62, 1
		}
		p.line("   %02d |     %3d |   %3d", h, batches, pairs)
	}
	p.line("(24 rows)")
	return p.String()
}

// cores returns how often the test fails by number of cores.
func cores() string {
	r, p := dice(41), new(paper)
	for _, n := range []int{1, 2, 4, 8} {
		failed := 0
		for round := range 10 {
			result := "ok    "
			if n > 1 && r.IntN(12) < n/2 {
				result = "FAIL  "
				failed++
			}
			p.line("%s harbor/settle  TestSettleBatch-%d  round %2d  30 runs  %5.2fs  %d batches  %d goroutines at most", result, n, round+1, 7.5+r.Float64(), 3750+r.IntN(40), 12+r.IntN(4))
		}
		p.line("-cpu %d: %d of 10 rounds failed", n, failed)
	}
	return p.String()
}

// contention returns a profile of what waits for locks.
func contention() string {
	r, p := dice(43), new(paper)
	p.line("File: settle.test\nType: delay\nShowing nodes accounting for 4.91s, 99.2% of 4.95s total\n      flat  flat%%   sum%%        cum   cum%%")
	sum, left := 0.0, 60.0
	for _, name := range []string{
		"sync.(*Mutex).Unlock", "runtime.chansend1", "harbor/settle.(*Collector).Add",
		"harbor/settle.(*Collector).flush", "harbor/settle.(*Collector).Run",
		"harbor/settle.(*Sender).Run", "harbor/settle.(*Sender).send", "harbor/settle.toFile",
		"harbor/bank.(*Fake).Submit", "harbor/ledger.(*Ledger).PostSettlement",
		"harbor/ledger.(*memory).InTx", "harbor/outbox.(*Buffer).Put", "harbor/settle.TestSettleBatch",
		"harbor/settle.TestSettleBatch.func1",
		"harbor/settle.TestSettleBatch.func2", "harbor/settle.TestSettleBatch.func3", "sync.(*WaitGroup).Wait",
		"testing.tRunner", "runtime.selectgo", "time.Sleep",
		"harbor/clock.realClock.NewTicker", "runtime.gcBgMarkWorker", "runtime.mcall", "runtime.park_m",
		"runtime.schedule", "runtime.findRunnable",
	} {
		flat := left * (.2 + .2*r.Float64())
		left -= flat
		sum += flat
		p.line("%9.3fs %5.2f%% %5.2f%% %9.3fs %5.2f%%  %s", flat/20, flat, sum, flat/12, min(99.9, flat*1.7), name)
	}
	return p.String()
}

// service returns the log of the running service.
func service(lines int) string {
	r, p := dice(uint64(lines)), new(paper)
	at, batch := time.Date(2026, 11, 15, 12, 1, 7, 0, time.UTC), 412806
	for i := range lines {
		at = at.Add(time.Duration(100+r.IntN(2400)) * time.Millisecond)
		clock := at.Format("2006-01-02T15:04:05.000Z")
		switch {
		case i%11 == 7:
			p.line("%s WARN bank slow batch=b-%06d took=%dms tries=1", clock, batch, 900+r.IntN(1800))
		case i%2 == 0:
			batch++
			p.line("%s INFO batch closed batch=b-%06d by=%s payments=%d total=%q", clock, batch,
				[]string{"size", "size", "interval"}[r.IntN(3)], 40+r.IntN(461), euro(90000+r.IntN(4000000)))
		default:
			p.line("%s INFO batch settled batch=b-%06d confirmed=%q fee=\"0.20 EUR\" took=%dms", clock, batch,
				euro(90000+r.IntN(4000000)), 110+r.IntN(600))
		}
	}
	return p.String()
}

// all returns the tests of the package.
func all() string {
	r, p := dice(47), new(paper)
	for _, t := range []string{
		"TestSettleBatch", "TestCollectorFlushesByTime", "TestCollectorFlushesWhenFull",
		"TestCollectorRefusesAfterClose", "TestCloseFlushes", "TestAddBlocksWhileFull",
		"TestSenderTriesAgain", "TestSenderGivesUp", "TestSenderSendsTheLast", "TestSameBatchTwice", "TestValueDate",
		"TestValueDateAtCutoff", "TestValueDateOnHolidays",
		"TestValueDateAcrossSummerTime", "TestMismatchIsTold", "TestBatchTotal", "TestEmptyBatchIsNone",
		"TestFileHasAllLines",
	} {
		p.line("=== RUN   %s", t)
		if strings.HasPrefix(t, "TestValueDate") {
			for _, day := range []string{"monday", "friday", "saturday", "new_year", "good_friday"} {
				p.line("=== RUN   %s/%s\n    cutoff_test.go:%d: %s is settled with the value of 2026-%02d-%02d", t, day,
					20+r.IntN(60), day, 1+r.IntN(12), 1+r.IntN(28))
			}
		}
		p.line("--- PASS: %s (0.%02ds)", t, r.IntN(40))
	}
	p.line("PASS\nok  \tharbor/settle\t1.488s")
	return p.String()
}
