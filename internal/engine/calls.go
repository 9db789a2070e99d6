package engine

import (
	"context"
	"path/filepath"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/call/spool"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/token"
)

// learntFile is the file in Config.Dir that holds what was learnt about providers.
const learntFile = "learnt.json"

// openCalls prepares the engine for requests.
func (e *Engine) openCalls(ctx context.Context) {
	c := &e.config
	in := call.InsideOf(ctx)
	o := call.Parts{
		Store: e.store, Tenant: c.Tenant, Models: c.Models, Margin: c.Margin, Project: c.Project, Recall: e.library,
		Events: c.Events, Stages: in.Stages,
		Log: c.Log, Now: c.Now, Waits: in.Waits, Shared: c.Shared, Sizing: c.Sizing, Taken: e.hasItems,
	}
	if c.Dir != "" || c.Learnt != nil {
		var learnt *token.Learnt
		var err error
		if c.Learnt != nil {
			learnt, err = token.OpenLearntAt(c.Learnt)
		} else {
			learnt, err = token.OpenLearnt(filepath.Join(c.Dir, learntFile))
		}
		if err != nil {
			c.Log.Warn("what was learnt about providers is not used", "error", err)
		}
		e.learnt = learnt
		o.Limits, o.Calibration, o.Learnt, o.Refresh = learnt.Limits, learnt.Calibration, learnt.Save, learnt.Refresh
		if c.Shared {
			o.Reread = learnt.Reread
			learnt.Hold()
		}
	}
	e.calls = call.New(o, c.Calls)
	e.handle = call.HandleOf(e.calls)
	if c.Calls.RecallReach == recall.ReachProject {
		e.library.Prepare(recall.Where{Tenant: c.Tenant, Project: c.Project, Reach: recall.ReachProject})
	}
	if c.Spool != "" {
		e.calls.OpenSpool(ctx, c.Spool, spool.Options{Sync: c.Sync == "full"})
	}
}

// closeCalls stores the calls that have ended, and what was learnt.
func (e *Engine) closeCalls() {
	ctx, cancel := context.WithTimeout(context.Background(), e.calls.CloseWait())
	defer cancel()
	if err := e.calls.Close(ctx); err != nil {
		e.config.Log.Error("calls were lost at the end", "error", err)
	}
	if e.learnt != nil {
		if err := e.learnt.Save(); err != nil {
			e.config.Log.Error("what was learnt about providers is lost", "error", err)
		}
	}
}
