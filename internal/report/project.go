package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// InProject reports whether a conversation is of a project: by the project's path, or by
// its last elements, as in "shop" for "/home/ann/src/shop".
func InProject(c *timeline.Conversation, project string) bool {
	project = strings.TrimRight(project, "/")
	return project != "" && (c.Project == project || strings.HasSuffix(c.Project, "/"+project))
}

// UnknownProject is the error for a name that no project or more than one project has.
type UnknownProject struct {
	Name string
	// Known lists existing projects or, if Both is set, the two that the name matches.
	Known []string
	Both  bool
}

func (u *UnknownProject) Error() string {
	known := few(slices.Clone(u.Known))
	for i := range known {
		known[i] = clip.To(known[i], 60)
	}
	name := strconv.Quote(clip.To(u.Name, 60))
	switch {
	case u.Both:
		return fmt.Sprintf("project %s is %s: give more of the path", name, strings.Join(known, " or "))
	case len(known) == 0:
		return fmt.Sprintf("no conversation of project %s: none of them has a project", name)
	}
	return fmt.Sprintf("no conversation of project %s: there are %s", name, strings.Join(known, ", "))
}

// Choose returns the conversations of a project in which something was said since a time.
// An empty project and the zero time choose all. A project that no conversation has is an
// *UnknownProject.
func Choose(all []Listed, project string, since time.Time) ([]Listed, error) {
	known := project == ""
	var chosen []Listed
	for i := range all {
		if project != "" && !InProject(&all[i].Conversation, project) {
			continue
		}
		known = true
		if !all[i].Said.Before(since) {
			chosen = append(chosen, all[i])
		}
	}
	if !known {
		return nil, unknownProject(all, project)
	}
	return chosen, nil
}

func unknownProject(all []Listed, project string) *UnknownProject {
	u := &UnknownProject{Name: project}
	for i := range all {
		if p := all[i].Project; p != "" && !slices.Contains(u.Known, p) {
			u.Known = append(u.Known, p)
		}
	}
	return u
}

// Place is a part of the history as people name it: a conversation with its reach, or a
// project. The zero value is the whole history.
type Place struct {
	Conversation, Project string
	// Reach selects Conversation alone, its project, or everything of its user. It is
	// ignored without Conversation.
	Reach recall.Reach
}

// ErrEmpty is returned by Where if there are no conversations at all.
var ErrEmpty = errors.New("the history is empty: nothing was recorded yet")

// Where returns the part of the history that a person means. A search of a project or of
// everything begins in no conversation, so that it covers no private one. Errors are those
// of Find, an *UnknownProject, or ErrEmpty.
func Where(ctx context.Context, s timeline.Store, tenant string, p Place) (recall.Where, error) {
	w := recall.Where{Tenant: tenant, Reach: p.Reach}
	if p.Conversation != "" {
		c, err := Find(ctx, s, tenant, p.Conversation)
		w.Conversation = c.Name
		return w, err
	}
	list, err := Conversations(ctx, s, tenant)
	if err != nil {
		return w, err
	}
	if len(list) == 0 {
		return w, ErrEmpty
	}
	if p.Project == "" {
		w.Reach = recall.ReachUser
		return w, nil
	}
	w.Reach = recall.ReachProject
	for i := range list {
		c := &list[i].Conversation
		switch {
		case !InProject(c, p.Project):
		case w.Project == "":
			w.Project = c.Project
		case c.Project != w.Project:
			return w, &UnknownProject{Name: p.Project, Known: []string{w.Project, c.Project}, Both: true}
		}
	}
	if w.Project == "" {
		return w, unknownProject(list, p.Project)
	}
	return w, nil
}
