package call

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
)

// Waits bounds what a call may wait for inside the engine. Options.RecallWait and, for
// inline summaries, CondenseOptions.Wait are set there. When a wait is over, the call
// continues with the best that is at hand, and the work that it waited for is abandoned, even
// if it ignores its context. The plan has no deadline. Zero values are the defaults.
//
//	wait     default   for
//	Store    10 s      the store: all that one call reads of it, the conversation and
//	                   its notes, plans and size
//	Agree    1 s       the store, where other processes serve calls of it, for all to send what
//	                   one of them has decided; within Store
//	Brief    50 ms     the store, from its first timeout until it answers again: all that
//	                   a call reads within that time, or a question that is asked each
//	                   second within 200 ms; also for a call that is sent whole; the
//	                   reply that a call continues; what other processes learnt; the
//	                   token count of a header
//	recall   100 ms    recall and its embedding: Options.RecallWait; 500 ms, if that is
//	                   more, at the first call of a conversation with scope project
//	summary  20 s      an inline summary: CondenseOptions.Wait
//	worst    10.6 s    Begin, and Call.Refused of each refusal; 30.6 s with an inline
//	                   summary; in addition, the time of the plan
//	Stuck    5 min     beyond the worst case: whoever waits may take the engine for
//	                   stuck by a fault; see Engine.BeginWait
//	Late     1 min     after the call: finding its conversation
//	Write    30 s      after the call: storing it, which is tried three times
//	Spool    2 s       after the call: storing it, where there is a spool for it
//	Shared   1 s       the end of a reply, where other processes serve calls of the store,
//	                   until the call is stored; Brief while the store is stuck
//	Close    30 s      Engine.Close: storing the last calls
//
// Other times that a call, the work after it or a command may wait have constants where they
// are used. The proxy's own, for clients and providers, are in proxy.Options.
//
//	constant                 default  for
//	view.DefaultRecallWait   100 ms   recall: the default of Options.RecallWait
//	view.EarlierWait         500 ms   recall: the least at the first call of a conversation
//	view.DefaultInlineWait   20 s     summary: the default of CondenseOptions.Wait, inline
//	recall.vectorWait        100 ms   within recall, at most half of what is left of it: the
//	                                  stored vectors of a scope that is searched first
//	forward.HeadWait         2 s      the beginning of a streamed reply, which may be a refusal
//	call.askedWait           300 ms   a tool of Oriel: the end of the reply that called it,
//	                                  because agents run it as soon as they have read that much
//	call.probeWait           200 ms   the question that a stuck store is asked each second
//	sqlite.changedWait       50 ms    within Store: a transaction of this process, before it
//	                                  is known whether another process changed anything
//	postgres.connectWait     5 s      within Store: a connection to the database
//	call.keysWait            10 s     after the call: looking for keys in a part of a reply
//	call.measureWait         1 min    after the call: measuring how much a tenant has stored
//	sqlite.patientWait       5 ms     after the call, within Write: other changes to commit with
//	postgres.commitWait      30 s     after the call: the commit of a write whose time is over
//	recall.claimWait         250 ms   in the background: vectors that another process makes
//	recall.unclaimWait       1 s      in the background: the end of claims on vectors
//	recall.lateWait          200 ms   searches of commands: the first vectors, if the words
//	                                  took all of the time
//	sqlite.clearWait         2 s      deletions: readers of what is deleted
//	sqlite.logWait           30 s     opening: processes that have a deleted log open
//	sqlite.saveWait          100 ms   closing a history whose log was deleted: readers
type Waits struct {
	Store, Agree, Brief, Stuck, Late, Write, Spool, Shared, Close time.Duration
}

// withDefaults fills in what is zero.
func (w Waits) withDefaults() Waits {
	return Waits{
		Store: cmp.Or(w.Store, 10*time.Second), Agree: cmp.Or(w.Agree, time.Second),
		Brief: cmp.Or(w.Brief, 50*time.Millisecond), Stuck: cmp.Or(w.Stuck, 5*time.Minute),
		Late: cmp.Or(w.Late, time.Minute), Write: cmp.Or(w.Write, 30*time.Second),
		Spool: cmp.Or(w.Spool, 2*time.Second), Shared: cmp.Or(w.Shared, time.Second),
		Close: cmp.Or(w.Close, 30*time.Second),
	}
}

// CloseWait returns how long Close may take.
func (r *Engine) CloseWait() time.Duration { return r.o.Waits.Close }

// BeginWait returns how long Begin, Count and Call.Refused may take before a caller may take
// them for stuck by a fault of the engine: the worst case of all waits, and Waits.Stuck. It
// is not a deadline of the plan: a caller that gives up earlier sends a request that may be
// too large.
func (r *Engine) BeginWait() time.Duration { return r.worstWait() + r.o.Waits.Stuck }

// EndWait returns how long Call.End waits until its call is stored; 0 means that it does not
// wait.
func (r *Engine) EndWait() time.Duration {
	if !r.o.Shared {
		return 0
	}
	if r.stuck.Load() {
		return min(r.o.Waits.Brief, r.o.Waits.Shared)
	}
	return r.o.Waits.Shared
}

// worstWait returns the longest that a call waits for optional work before it is sent.
func (r *Engine) worstWait() time.Duration {
	o := &r.tuning.Load().o
	wait := r.o.Waits.Brief + r.o.Waits.Store + max(cmp.Or(o.RecallWait, view.DefaultRecallWait), view.EarlierWait)
	if c := o.Condense; c != nil && c.Inline {
		wait += cmp.Or(c.Wait, view.DefaultInlineWait)
	}
	return wait
}

// storeWait returns how long a call waits for the store now.
func (r *Engine) storeWait() time.Duration {
	if r.stuck.Load() {
		return min(r.o.Waits.Brief, r.o.Waits.Store)
	}
	return r.o.Waits.Store
}

// noteStore notes how the store has answered: it counts as stuck from its first timeout
// until it answers again. A client that has gone says nothing about the store.
func (r *Engine) noteStore(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	stuck := errors.Is(err, context.DeadlineExceeded)
	r.stuck.Store(stuck)
	if stuck && r.ending != nil && r.probing.CompareAndSwap(false, true) {
		go r.probe()
	}
}

// Waits that nothing sets: see Waits.
const (
	askedWait   = 300 * time.Millisecond
	probeWait   = 200 * time.Millisecond
	keysWait    = 10 * time.Second
	measureWait = time.Minute
)

// probeEvery is how often a stuck store is asked a question.
const probeEvery = time.Second

// probe asks a stuck store now and then until it answers in time. A store that is far away
// answers one question within probeWait, but not all that a call reads within Waits.Brief:
// calls alone would take it for stuck for ever.
func (r *Engine) probe() {
	defer r.probing.Store(false)
	for r.stuck.Load() {
		select {
		case <-r.ending.Done():
			return
		case <-time.After(probeEvery):
		}
		ctx, cancel := context.WithTimeout(r.ending, probeWait)
		_, err := limit.Do(ctx, &r.reads, func(ctx context.Context) (timeline.Conversation, error) {
			return r.o.Store.Conversation(ctx, timeline.Local, "probe")
		})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			r.stuck.Store(false)
		}
	}
}
