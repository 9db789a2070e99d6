package settings

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watched is a watcher whose looks the test makes.
type watched struct {
	*watcher
	t *testing.T
}

func watch(t *testing.T, s Sources) watched {
	t.Helper()
	l, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return watched{newWatcher(s, l), t}
}

// quiet looks so many times, and finds nothing.
func (w watched) quiet(n int) {
	w.t.Helper()
	for range n {
		if l, err := w.look(); l != nil || err != nil {
			w.t.Fatalf("told of %+v, %v", l, err)
		}
	}
}

// next finds something at the second look.
func (w watched) next() (*Loaded, error) {
	w.t.Helper()
	w.quiet(1)
	l, err := w.look()
	if l == nil && err == nil {
		w.t.Fatal("the change is not seen")
	}
	return l, err
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWatchTellsAtATick(t *testing.T) {
	path := file(t, "")
	l, err := Load(Sources{File: path})
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, "profile = 'chat'")
	ctx, cancel := context.WithCancel(context.Background())
	tick := make(chan time.Time, 2)
	tick <- time.Time{}
	tick <- time.Time{}
	Watch(ctx, Sources{File: path}, l, tick, func(l *Loaded, err error) {
		if err != nil || l.Profile != "chat" {
			t.Error(l, err)
		}
		cancel()
	})
}

func TestChangesAreTold(t *testing.T) {
	path := file(t, "profile = 'chat'")
	w := watch(t, Sources{File: path, Env: env(map[string]string{"ORIEL_SYNC": "full"})})
	w.quiet(3)

	put(t, path, "profile = 'thrifty'")
	if l, err := w.next(); err != nil || l.Profile != "thrifty" || l.Sync != "full" {
		t.Fatalf("%+v %v", l, err)
	}
	w.quiet(2)

	put(t, path, "profile = 'thrfty'")
	if _, err := w.next(); err == nil || !strings.Contains(err.Error(), path+":1: profile: ") {
		t.Fatal(err)
	}
	w.quiet(3) // it is told once

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := w.next(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	put(t, path, "profile = 'off'")
	if l, err := w.next(); err != nil || l.Profile != "off" {
		t.Fatal(err)
	}
}

// A file that is being written is left alone until it stays the same.
func TestHalfWrittenFilesAreNotRead(t *testing.T) {
	path := file(t, "profile = 'chat'")
	w := watch(t, Sources{File: path})
	for _, half := range []string{"", "prof", "profile = 'thr"} {
		put(t, path, half)
		w.quiet(1)
	}
	put(t, path, "profile = 'chat'")
	w.quiet(3)
}

// The user's own file may come later; once it was there, its end is a mistake.
func TestAFileMayComeLater(t *testing.T) {
	path := file(t, "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w := watch(t, Sources{File: path, Optional: true})
	w.quiet(2)
	put(t, path, "profile = 'off'")
	if l, err := w.next(); err != nil || l.Profile != "off" || l.File != path {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := w.next(); err == nil {
		t.Fatal("the defaults took the place of a file that is gone")
	}
}

// Files that settings name are watched, too.
func TestNamedFilesAreWatched(t *testing.T) {
	prompt := file(t, "Sum up.")
	path := file(t, "")
	w := watch(t, Sources{File: path})
	put(t, path, "[condense]\nurl = 'http://a'\nmodel = 'm'\nprompt = '"+prompt+"'")
	if l, err := w.next(); err != nil || l.Instructions != "Sum up." {
		t.Fatal(err)
	}
	put(t, prompt, "Be brief.")
	if l, err := w.next(); err != nil || l.Instructions != "Be brief." {
		t.Fatal(err)
	}
}

// A file that is named and not there is a mistake only until it comes.
func TestNamedFileThatComesLater(t *testing.T) {
	path, models := file(t, ""), filepath.Join(t.TempDir(), "models.json")
	w := watch(t, Sources{File: path})
	put(t, path, "models_file = '"+models+"'")
	if _, err := w.next(); err == nil {
		t.Fatal("no error for a file that is not there")
	}
	w.quiet(3)
	put(t, models, `{"models":[]}`)
	if l, err := w.next(); err != nil || l.ModelsFile != models {
		t.Fatal(l, err)
	}
}

func TestChanged(t *testing.T) {
	load := func(text string) *Loaded {
		l, err := Load(Sources{File: file(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a := load("profile = 'chat'\ndata = 'x'\norigins = ['https://a']")
	if keys, restart := Changed(a,
		load("origins = ['https://a']\ndata = 'x'\nprofile = 'chat'")); len(keys)+len(restart) != 0 {
		t.Error(keys, restart)
	}
	keys, restart := Changed(a, load("data = 'y'\norigins = ['https://b']\nmodels.m.window = 5000"))
	if strings.Join(keys, " ") != "origins data profile models" || strings.Join(restart, " ") != "data" {
		t.Error(keys, restart)
	}
}
