// Package replicas runs several servers on one PostgreSQL and deals the calls of many
// conversations to them at random, against one server on a folder of its own that gets the
// same calls.
//
//	./scripts/check replicas [-replicas 4] [-conversations 50] [-calls 14] [-parallel 8] [-seed 1]
//	./scripts/check replicas -pairs [-recall] every call to two replicas in the same moment
//	./scripts/check replicas -latency 30ms    a database that far away
//	./scripts/check replicas -kill 10         kill -9 of a replica under load, ten times
//	./scripts/check replicas -stop 3          pg_ctl stop -m fast and immediate of the database
//	./scripts/check replicas -failover 10     kill -9 of the primary, promotion of its standby
//	./scripts/check replicas -full 4          no space for tables, for the write-ahead log (root)
//	./scripts/check replicas -slow 3          2 s of latency on the way to the database
//	./scripts/check replicas -crowd 3         others take all connections of the database
//
// Without faults the model must get the same bytes for every call, whoever serves it: cuts,
// pins, undone plans, learnt limits and calibrated counts are shared before the next call.
// Every conversation must be one conversation, with the same messages. Recall is off: what
// is recalled depends on how far a server has embedded the history. With -recall it is on,
// and calls with other bytes are counted. In both cases the check reports how much of each
// request was sent again in the same bytes with the next one: what is recalled once must stay.
//
// With -pairs each call goes to two replicas, and the model answers neither before it has both.
// Half of the pairs are the same request: the bytes must be equal. In the other half the newest
// messages differ, and the bytes before them must be equal.
//
// With faults every call must be answered, if its client asks another replica after a lost
// connection, as a load balancer does; and every call that was answered must be in the
// history in the end, once. Calls of further conversations come until all faults have
// happened. The standby is synchronous unless -asynchronous is given. The clients then name their
// conversations, as agents do: while
// the database is gone, a replica cannot know an unnamed conversation that another one had.
package replicas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/tools/check/kit"
)

// Check runs the servers.
func Check(args []string) error {
	flags := kit.Flags("replicas")
	t := &trial{}
	flags.IntVar(&t.count, "replicas", 4, "servers on the database")
	flags.IntVar(&t.conversations, "conversations", 50, "conversations")
	flags.IntVar(&t.calls, "calls", 14, "calls of each conversation")
	flags.IntVar(&t.parallel, "parallel", 8, "conversations at a time")
	flags.Uint64Var(&t.seed, "seed", 1, "which replica gets which call")
	flags.IntVar(&t.kills, "kill", 0, "how often a replica is killed under load")
	flags.IntVar(&t.stops, "stop", 0, "how often the database is stopped under load")
	flags.IntVar(&t.failovers, "failover", 0, "how often the primary is killed and its standby promoted")
	flags.BoolVar(&t.asynchronous, "asynchronous", false, "do not let commits wait for the standby")
	flags.IntVar(&t.fulls, "full", 0, "how often a disk of the database is full")
	flags.IntVar(&t.slows, "slow", 0, "how often the way to the database becomes slow")
	flags.DurationVar(&t.latency, "latency", 0, "how far away the database is all the time")
	flags.IntVar(&t.crowds, "crowd", 0, "how often others take all connections of the database")
	flags.DurationVar(&t.hold, "hold", 3*time.Second, "how long a fault lasts at least, other than a kill")
	flags.BoolVar(&t.pairs, "pairs", false, "send each call to two replicas in the same moment")
	flags.BoolVar(&t.recall, "recall", false, "recall is on: count the calls whose bytes differ")
	flags.StringVar(&t.keep, "keep", "", "keep data and logs in this folder")
	if rest := kit.Parse(flags, args); len(rest) > 0 || t.count < 1 {
		return errors.New("replicas takes flags only, and at least one replica")
	}
	if t.pairs && (t.count < 2 || t.faulty()) {
		return errors.New("replicas -pairs needs two replicas, and no faults")
	}
	return t.run()
}

var ctx = context.Background()

// trial is one run of the check.
type trial struct {
	count, conversations, calls, parallel int
	kills, stops, failovers               int
	fulls, slows, crowds                  int
	asynchronous                          bool
	hold, latency                         time.Duration
	seed                                  uint64
	recall, pairs                         bool
	keep                                  string

	dir      string
	oriel    string
	model    *model
	upstream string
	database *pgtest.Server // the primary
	standby  *pgtest.Server // nil without -failover
	relays   []*kit.Relay   // between replicas and databases, with -slow
	one      *replica
	many     []*replica

	mu       sync.Mutex // protects what follows
	problems []string
	cuts     int
	differ   int               // calls whose bytes differ, with -recall
	names    map[int][2]string // of the conversations, on the one server and on the many
	paired   tally             // of pairs
	resent   [2]resent         // by the one server and by the many
	waits    [2][]time.Duration
}

// replica is a server that can be killed and started again.
type replica struct {
	t    *trial
	name string
	args []string

	mu     sync.Mutex // protects what follows
	server *kit.Server
	base   string
}

func (t *trial) run() error {
	if err := t.start(); err != nil {
		return errors.Join(err, t.stop())
	}
	began := time.Now()
	switch {
	case t.faulty():
		t.underFaults()
	case t.pairs:
		t.comparePairs()
	default:
		t.compare()
	}
	took := time.Since(began)
	if err := t.stop(); err != nil { // what waits is written first
		t.problem("%v", err)
	}
	err := t.histories()
	t.database.Stop()
	if t.standby != nil {
		t.standby.Stop()
	}
	if t.keep == "" {
		os.RemoveAll(t.dir)
	}
	if err != nil {
		return err
	}
	for i, p := range t.problems {
		if i == 20 {
			fmt.Printf("… and %d more\n", len(t.problems)-i)
			break
		}
		fmt.Println(p)
	}
	if t.pairs {
		fmt.Println(t.paired.String())
	} else if !t.faulty() {
		fmt.Printf("sent again in the same bytes: %s by the one server, %s by the replicas\n", &t.resent[0],
			&t.resent[1])
		fmt.Printf("a call at the median: %v by the one server, %v by the replicas\n", median(t.waits[0]),
			median(t.waits[1]))
	}
	if t.recall && !t.pairs {
		fmt.Printf("of %d calls with recall %d have other bytes\n", t.conversations*t.calls, t.differ)
	}
	fmt.Printf("%d replicas, %d conversations of %d calls in %.1f s, %d plans; %d problems\n", t.count, t.conversations,
		t.calls, took.Seconds(), t.cuts, len(t.problems))
	return kit.Failed(len(t.problems))
}

// faulty reports whether any fault is asked for.
func (t *trial) faulty() bool {
	return t.kills+t.stops+t.failovers+t.fulls+t.slows+t.crowds > 0
}

func (t *trial) problem(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

const settings = `profile = "check"
[profiles.check]
recall = %d
`

// start starts the database, the model and the servers.
func (t *trial) start() (err error) {
	if t.dir = t.keep; t.dir == "" {
		if t.dir, err = os.MkdirTemp("", "check-replicas"); err != nil {
			return err
		}
	} else if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	t.names = map[int][2]string{}
	if t.oriel, err = kit.BuildOriel(t.dir); err != nil {
		return err
	}
	if err := t.startDatabase(); err != nil {
		return err
	}
	store, err := t.address()
	if err != nil {
		return err
	}
	t.model = newModel()
	t.model.compared, t.model.pairs = !t.faulty(), t.pairs
	server := httptest.NewServer(t.model)
	t.upstream = server.URL
	recall := -1
	if t.recall {
		recall = 0 // as much as without a profile
	}
	config := filepath.Join(t.dir, "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, settings, recall), 0o600); err != nil {
		return err
	}
	t.one = t.replica("one")
	for i := range t.count {
		t.many = append(t.many, t.replica(fmt.Sprintf("replica%d", i+1), "--store", store))
	}
	for _, r := range append([]*replica{t.one}, t.many...) {
		if err := r.start("127.0.0.1:0"); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) replica(name string, args ...string) *replica {
	dir := filepath.Join(t.dir, name)
	args = append(args, "--config", filepath.Join(t.dir, "config.toml"), "--data", dir, "--spool",
		filepath.Join(dir, "spool"),
		"--upstream-openai", t.upstream+"/v1", "--upstream-anthropic", t.upstream)
	return &replica{t: t, name: name, args: args}
}

func (r *replica) folder() string { return filepath.Join(r.t.dir, r.name) }

// start starts the server, at the address that it had.
func (r *replica) start(listen string) error {
	if err := os.MkdirAll(r.folder(), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(r.t.dir, r.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s, err := kit.StartServer(r.t.oriel, listen, log, r.args...)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server, r.base = s, s.Base
	return nil
}

func (t *trial) stop() error {
	var errs []error
	for _, r := range append([]*replica{t.one}, t.many...) {
		if r != nil && r.server != nil {
			if err := r.server.Stop(); err != nil {
				errs = append(errs, fmt.Errorf("%s ended with %w", r.name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// each runs do for every conversation, some at a time.
func (t *trial) each(do func(c *conversation, random *rand.Rand)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, t.parallel)
	for i := range t.conversations {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			do(newConversation(i), rand.New(rand.NewPCG(t.seed, uint64(i))))
		})
	}
	group.Wait()
}

// compare sends all calls to the one server and to the replicas.
func (t *trial) compare() {
	t.each(func(c *conversation, random *rand.Rand) {
		var names [2]string
		var plans [2]string // ids differ: each has that of the call that made the plan
		for range t.calls {
			body := c.next()
			one, err := c.send(t.one.base, "one", body)
			if err != nil {
				t.problem("conversation %d, call %d: the one server: %v", c.number, c.turn, err)
				return
			}
			r := t.many[random.IntN(len(t.many))]
			many, err := c.send(r.base, "many", body)
			if err != nil {
				t.problem("conversation %d, call %d: %s: %v", c.number, c.turn, r.name, err)
				return
			}
			if one.status != 200 || many.status != 200 {
				t.problem("conversation %d, call %d: status %d and %d: %.200s", c.number, c.turn, one.status,
					many.status, many.body)
				return
			}
			t.sameBytes(c, r)
			t.resend(c)
			for i, o := range []*outcome{one, many} {
				t.mu.Lock()
				t.waits[i] = append(t.waits[i], o.took)
				t.mu.Unlock()
				if names[i] == "" {
					names[i] = o.conversation
				}
				if o.conversation != names[i] {
					t.problem("conversation %d (kind %d), call %d at %s is in %s, earlier ones in %s", c.number, c.kind,
						c.turn, r.name, o.conversation, names[i])
				}
			}
			cut, shared := one.plan != plans[0], many.plan != plans[1]
			if cut {
				t.mu.Lock()
				t.cuts++
				t.mu.Unlock()
			}
			if plans = [2]string{one.plan, many.plan}; !t.recall && (cut != shared || one.action != many.action) {
				t.problem("conversation %d (kind %d), call %d at %s: plan %q and %q, action %s and %s", c.number,
					c.kind, c.turn, r.name, one.plan, many.plan, one.action, many.action)
			}
			c.answered()
			if c.kind == edited {
				other := t.many[random.IntN(len(t.many))]
				if err := errors.Join(c.edit(t.one.base, names[0]), c.edit(other.base, names[1])); err != nil {
					t.problem("conversation %d, after call %d: %v", c.number, c.turn, err)
				}
			}
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.names[c.number] = names
	})
}

// sameBytes compares what the model got for a call by both ways.
func (t *trial) sameBytes(c *conversation, r *replica) {
	one, many := t.model.bodies("one", c.number, c.turn), t.model.bodies("many", c.number, c.turn)
	if t.recall {
		if !slices.EqualFunc(one, many, bytes.Equal) {
			t.mu.Lock()
			t.differ++
			t.mu.Unlock()
		}
		return
	}
	if len(one) != len(many) {
		t.problem("conversation %d (kind %d), call %d at %s was sent %d and %d times", c.number, c.kind, c.turn, r.name,
			len(one), len(many))
		return
	}
	for i := range one {
		if bytes.Equal(one[i], many[i]) {
			continue
		}
		at := common(one[i], many[i])
		t.problem("conversation %d (kind %d), call %d at %s, sent %d bytes and %d: they differ at %d: %.80q and %.80q",
			c.number, c.kind, c.turn, r.name, len(one[i]), len(many[i]), at, one[i][at:], many[i][at:])
		if t.keep != "" {
			name := filepath.Join(t.keep, fmt.Sprintf("body-%d-%d-", c.number, c.turn))
			os.WriteFile(name+"one.json", one[i], 0o600)
			os.WriteFile(name+"many.json", many[i], 0o600)
		}
	}
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	if len(list) == 0 {
		return 0
	}
	return list[len(list)/2].Round(100 * time.Microsecond)
}
