package recall

import (
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

const (
	// maxPreparing is how many places may wait to be prepared; further ones
	// are skipped.
	maxPreparing = 256
	// crowdedFor is how long Prepare does not rebuild a scope that was
	// discarded for lack of memory. Otherwise scopes that do not fit together
	// would displace each other forever.
	crowdedFor = 10 * time.Minute
	// maxCrowded is how many such scopes are remembered.
	maxCrowded = 4096
)

// Prepare has a scope built, updated and embedded in the background, so that
// the next Recall finds its words and vectors. It returns at once; failures go
// to LibraryOptions.Report. It does nothing while too many others wait to be
// prepared, and for ten minutes after the scope was discarded for lack of
// memory. With ReachProject, and neither a conversation nor a project, it prepares
// the projects that were used last.
func (l *Library) Prepare(w Where) {
	if w.Reach == "" {
		w.Reach = ReachConversation
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.preparing) >= maxPreparing || slices.Contains(l.preparing, w) {
		return
	}
	l.begin()
	l.preparing = append(l.preparing, w)
	l.wake.Broadcast()
}

// newestProjects is how many projects Prepare chooses itself.
const newestProjects = 3

// prepareProjects prepares the projects that a tenant used last.
func (l *Library) prepareProjects(tenant string) {
	var all []timeline.Conversation
	if err := recovered(func() (err error) {
		all, err = l.store.Conversations(l.ctx, tenant)
		return err
	}); err != nil {
		l.report(err)
		return
	}
	slices.SortFunc(all, func(a, b timeline.Conversation) int { return b.Updated.Compare(a.Updated) })
	var chosen []string
	for i := range all {
		if p := all[i].Project; p != "" && !slices.Contains(chosen, p) && len(chosen) < newestProjects {
			chosen = append(chosen, p)
			l.Prepare(Where{Tenant: tenant, Project: p, Reach: ReachProject})
		}
	}
}

// prepare resolves a place and has its scope built.
func (l *Library) prepare(w Where) {
	if w.Reach == ReachProject && w.Conversation == "" && w.Project == "" {
		l.prepareProjects(w.Tenant)
		return
	}
	key, v, err := l.resolve(w)
	if err != nil {
		l.report(err)
	}
	stored := err == nil && l.inStore(key, v)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unswept = true // also if nobody ever searches
	if stored {
		l.dropIdle(key)
		return
	}
	if err != nil || l.closed {
		return
	}
	if since, ok := l.crowded[key]; ok && len(l.cached[key]) == 0 && time.Since(since) < crowdedFor {
		return
	}
	l.start(l.place(key, v))
}

// crowd remembers that a scope was discarded for lack of memory. The caller
// holds mu.
func (l *Library) crowd(k scopeKey) {
	if len(l.crowded) >= maxCrowded {
		clear(l.crowded)
	}
	l.crowded[k] = time.Now()
}
